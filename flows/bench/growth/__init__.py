"""How a replay grows: with cores, workers, partitions, sizes of records, views and keys."""
