"""The Spark session and how it is configured."""
