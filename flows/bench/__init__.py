"""`lk bench`: every promised figure, measured on fresh instances."""
