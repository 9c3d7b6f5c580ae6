"""The local servers and background processes of an instance: started, probed, measured and stopped."""
