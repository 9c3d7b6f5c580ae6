"""Topics, offsets, producers and transactions of Kafka."""
