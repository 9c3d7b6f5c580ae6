"""The lake: paths of tables, reading and writing of Delta tables, leases of their writers."""
