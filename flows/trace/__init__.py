"""Follows one record of the log through every stage, from its bytes to the rows that are served."""
