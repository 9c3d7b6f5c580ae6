"""WHAT is computed. Pure: no I/O, no clock, no environment, no session."""
