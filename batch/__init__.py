"""Batch layer: claim a cut, land the log up to it, build every view from the archive."""
