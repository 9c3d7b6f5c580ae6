"""What tests of the whole system share: the command line, the log read back, and waiting with a deadline."""
