"""Routes copy records to other topics, exactly once. An epoch of a route:

0. Plan one transaction for each partition with new records. Fault point: ``route.0_before_epoch``.
1. In an executor, copy a partition's records and commit their position in the same transaction.
   Fault points: ``route.1_before_commit``, ``route.1_after_commit``.
2. Collect the outcomes in the driver. Fault point: ``route.2_after_epoch``.
"""
