"""What must be installed on the machine: Java, jars, Trino, and the supported Spark versions."""
