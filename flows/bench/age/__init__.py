"""`lk bench age`: an instance with years of epochs, publications and builds, measured beside a fresh one."""
