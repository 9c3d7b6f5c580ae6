"""Generated records of any topic: the same bytes for the same seed, in any part and order."""
