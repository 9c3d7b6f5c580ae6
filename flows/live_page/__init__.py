"""The live page: the state of the instance in a browser, and the same numbers as Prometheus metrics."""
