"""Routes copy records to other topics, exactly once. An epoch of a route:

0. Plan one transaction for each partition with new records. Fault point: ``route.0_before_epoch``.
1. In an executor, copy a partition's records and commit their position in the same transaction.
   Fault points: ``route.1_before_commit``, ``route.1_after_commit``.
2. Collect the outcomes in the driver. Where a task got no committed record, the driver commits the end of its span in
   a transaction of its own, with the fault points of step 1. Fault point: ``route.2_after_epoch``.
"""
