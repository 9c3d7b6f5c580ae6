"""What is computed: definitions, decoding, aggregation. Pure: no I/O, no clock, no environment, no Spark job."""
