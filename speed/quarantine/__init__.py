"""Records that could not be decoded: listed, exported, repaired and sent again."""
