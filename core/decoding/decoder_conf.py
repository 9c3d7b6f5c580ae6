"""The entry of a Spark session's configuration that says how it decodes records."""

DECODER = "spark.lk.decoder"
PLAIN = "plain"  # with Spark's functions alone; any other value: in one pass where both decoders agree
