"""The real servers on this machine, as values that are started, probed and stopped alike."""
