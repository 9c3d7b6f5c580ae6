"""The lake: where tables are, how Delta tables are written and read, who may write."""
