"""The lake: paths of tables, reading and writing of Delta tables, leases of their writers."""

from infra.lake.arrow_without_pandas import leave_pandas_out

leave_pandas_out()
