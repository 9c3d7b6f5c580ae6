"""Trino: its client, its catalog of the lake, and the views that it serves."""
