"""What must be on the machine: Java, jars, Trino, and the Spark versions that are supported."""
