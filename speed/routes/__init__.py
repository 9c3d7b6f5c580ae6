"""Routes: records copied to other topics, exactly once."""
