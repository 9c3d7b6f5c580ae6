"""Serving layer: publish what passed its gate, repair what a crash left, read it, tell its state."""
