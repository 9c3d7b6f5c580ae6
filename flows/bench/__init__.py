"""`lk bench`: every benchmark figure, measured on fresh instances."""
