"""The process that drives a run: its start and stop, its pace and its state."""
