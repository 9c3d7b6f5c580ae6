"""What the programs in views/programs must give, told in plain Python, and events to tell it of."""
