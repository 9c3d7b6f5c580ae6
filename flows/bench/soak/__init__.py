"""`lk bench soak`: hours of events, batches, switches and readers; nothing may be wrong, and nothing may grow."""
