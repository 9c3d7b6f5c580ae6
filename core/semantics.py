"""Versions of what the code computes. Raise one when the same input would give another result.

Each is part of digests. A raised version changes the digest of every definition that it concerns, so runs and builds
with the old digest are refused.
"""

DECODER = 3  # of decoding: part of every topic's digest
ROLLUP = 2  # of rollup views: part of their digests
COMPACTED = 1  # of decoding and views of compacted topics: part of the digests of these
TIME_KEYS = 1  # of views with a time among their keys: part of their digests
KEYED = 1  # of keyed views: part of their digests
ROUTE = 1  # of routes: part of their digests
