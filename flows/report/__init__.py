"""The architects' report: one page, its plots and its raw rows."""
