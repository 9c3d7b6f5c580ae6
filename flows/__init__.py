"""Compositions of the layers: the batch cycle, runs, switches, routes, the demo, the benchmarks."""
