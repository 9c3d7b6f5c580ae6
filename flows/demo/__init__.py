"""`make demo`: real data through the whole system, every number checked."""
