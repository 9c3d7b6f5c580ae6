"""Events become a view's rows, and rows become the SQL that serves them."""
