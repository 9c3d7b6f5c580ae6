"""HOW we connect and start: settings, Java, jars, Spark, and the local servers."""
