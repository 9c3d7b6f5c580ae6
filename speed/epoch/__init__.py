"""One epoch: what it computes and how it is committed."""
