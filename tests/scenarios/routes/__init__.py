"""Routes on a real broker: kills, pauses and handovers."""
