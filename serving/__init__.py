"""The serving layer: publishes builds, recovers after a crash, runs queries, reports its status."""
