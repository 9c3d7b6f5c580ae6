"""Flink and Kafka Streams computing trade_stats from the same log, to compare with a replay."""
