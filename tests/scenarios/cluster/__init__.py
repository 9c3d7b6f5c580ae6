"""The jobs on three brokers and two workers."""
