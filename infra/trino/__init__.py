"""Trino: its client, the catalog of the lake, and the served views."""
