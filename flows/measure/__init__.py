"""What the demo and the benchmarks share: an instance, load, readers, figures."""
