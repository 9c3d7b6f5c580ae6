"""Versions of what the code computes. Raise one when the same input would give another result.

Each is part of digests, so raising it makes every definition that it concerns a new one: runs and builds of the old one
are refused.
"""

DECODER = 3  # of decoding: part of every topic's digest
ROLLUP = 2  # of rollup views: part of their digests
KEYED = 1  # of keyed views: part of their digests
ROUTE = 1  # of routes: part of their digests
