"""The long benchmarks, run small: what they refuse, and that they run to their end."""
