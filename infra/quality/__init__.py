"""Data quality: Great Expectations evaluates the gate's checks, Data Docs show their results."""
