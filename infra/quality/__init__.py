"""Great Expectations: runs the gate's checks and renders what they found."""
