"""Routes on a real broker, killed, paused and handed over."""
