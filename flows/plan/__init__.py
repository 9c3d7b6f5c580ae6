"""The planner: what both modes would cost, from what the study measured."""
