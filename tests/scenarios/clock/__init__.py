"""The clock of the machine that runs verbs is wrong. What is served stays exact."""
