"""Faults that really happen to real servers: what is served stays what the log says."""
