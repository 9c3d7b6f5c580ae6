"""Mistakes in a definition that can be found without running it."""
