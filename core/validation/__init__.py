"""Checks of definitions that need neither Spark nor Trino, and errors for definitions that changed."""
