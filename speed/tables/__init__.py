"""The tables of a run: their schemas, fold and maintenance."""
