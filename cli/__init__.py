"""`lk VERB`: parse, call one function, print its result, turn errors into exit codes. No logic."""

from cli.root import main

__all__ = ["main"]
