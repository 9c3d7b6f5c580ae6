"""The process that drives a run: started, stopped, paced and found again."""
