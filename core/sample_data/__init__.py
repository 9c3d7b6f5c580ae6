"""Generated records: the same for the same seed, in any part and order."""
