"""Kafka clients: topics, offsets, consumer groups, producers, transactions, and checks of the log."""
