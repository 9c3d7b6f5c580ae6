"""The batch layer recomputes every view from the archive, in four steps that can each be repeated after a crash.

0. Claim a cut: a row of control.claims, before anything is read. Fault points: ``batch.0_before_claim``,
   ``batch.0_after_claim``.
1. Land: append the log up to the cut to the archive, one commit per topic. Fault points: ``batch.1_before_land``,
   ``batch.1_in_land``, ``batch.1_after_land``.
2. Build: write one table per view, then its row of control.builds. Fault points: ``batch.2_in_build``,
   ``batch.2_before_built``, ``batch.2_after_built``.
3. Gate: write the results of the data-quality checks, then which views passed. Fault points: ``batch.3_in_gate``,
   ``batch.3_before_passed``.

Publishing a build is the protocol of serving/replace_views.py.
"""
