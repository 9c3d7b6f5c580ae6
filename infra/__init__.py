"""Connections and processes: settings, Kafka, the lake, control tables, Spark, Trino and the local servers."""
