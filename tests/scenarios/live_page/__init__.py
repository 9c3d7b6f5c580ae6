"""Real processes and real servers are killed. What is served stays exact."""
