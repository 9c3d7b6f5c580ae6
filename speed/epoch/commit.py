"""The commit protocol of an epoch. After a crash at any step, running the epoch again gives the same state.

Every commit carries the generation of the run's lease, so a process that lost the lease cannot write.
A fault point is a place at which a test can kill the process; its number is that of its step.

0. Plan: the topics are the declared ones; the checkpoint's offset log gives start and end offsets, so a retry reads the
   same records. An epoch whose manifest row exists is skipped. Fault point: ``speed.0_before_epoch``.
1. Compute everything before anything is written; the record counts must account for every offset, and the log must
   still have the record before the epoch.
   Fault point: ``speed.1_after_compute``.
2. Append bad records to the quarantine, as ``txn(run/_quarantine, epoch)``. Fault point: ``speed.2_after_quarantine``.
3. Append the partial rows of each rollup that has any, as ``txn(run/view, epoch)``. For a keyed view,
   append the new events to those that the run keeps, compute the units that they touch, and append these units' rows.
   Fault points: ``speed.3_before_view``, ``speed.3_before_units``.
4. Append the manifest row, as ``txn(run/_epochs, epoch)``: the epoch is committed.
   Fault points: ``speed.4_before_manifest``, ``speed.4_after_manifest``.
5. Commit the end offsets to the run's consumer group, for people and lag monitors; the run never reads them back.
   Fault point: ``speed.5_after_group``.
6. Start maintenance that is due; it runs beside the next epochs. Then wait until the next epoch may start.
   Fault points: ``speed.6_in_fold``, ``speed.6_in_merge``, ``speed.6_after_merge``, ``speed.6_after_maintenance``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from core.catalog import Catalog
from core.errors import NEW_RUN, Refused, TryAgain
from core.record_counts import Totals
from infra import faults
from infra.control import runs
from infra.control.manifest import Epoch, epoch_numbered, epoch_row, last_epoch
from infra.control.runs import Run
from infra.kafka import kafka_admin, log_checks
from infra.lake import table_paths
from infra.lake.leases import Lease
from infra.retry import retry_on
from infra.settings import Settings
from speed.epoch import offset_log
from speed.epoch.compute_epoch import EpochComputer
from speed.epoch.epoch_results import EpochResults
from speed.epoch.log_chain import LogChain, Marks
from speed.epoch.offset_log import PlannedEpoch
from speed.epoch.run_tables import RunTables
from speed.process import state_file
from speed.process.epoch_pacing import EpochPacing, StopRequested
from speed.process.step_times import StepTimes, process_clock

_BROKER_DEADLINE = 60.0


class EpochSink:
    """The ``foreachBatch`` function of a run: Spark calls it with every micro-batch."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        run: Run,
        lease: Lease,
        compute: EpochComputer,
        start_maintenance: Callable[[int], int] = lambda _: 0,
    ) -> None:
        self.settings = settings
        self.run = run
        self.compute = compute
        self.start_maintenance = start_maintenance
        self.pacing = EpochPacing(settings, run)
        self.tables = RunTables(settings, catalog, run, lease)
        self.log = LogChain(settings, run, log_checks.RESTORE_LOG, self.pacing)
        self.idle = threading.Event()
        self.idle.set()
        self.failure: BaseException | None = None
        self.steps = StepTimes(process_clock(compute.java_pid))
        self.total: Totals | None = None  # of the committed epochs; read with the first one that this process commits

    def __call__(self, _records: DataFrame, number: int) -> None:
        """Commits one epoch, whose records are read by the offsets in the offset log.

        Raises StopRequested, with nothing written, after a request to stop the run.
        """
        self.idle.clear()
        try:
            self._commit(number)
        except BaseException as e:
            self.failure = e
            raise
        finally:
            self.idle.set()

    def _commit(self, number: int) -> None:
        if self.pacing.stopping.is_set():
            raise StopRequested
        began = time.monotonic()
        # 0. Plan
        self.steps.begin("0 plan")
        faults.at("speed.0_before_epoch")
        self._require_same_topics()
        planned = offset_log.planned_epoch(self.settings, self.run, number)
        if self._is_committed(planned):
            self._commit_offsets(planned)
            return
        new_marks = self.log.read(planned)
        with self.pacing.epoch(planned.size):
            # 1. Compute
            self.steps.begin("1 compute")
            with self.compute.computed(planned) as results:
                faults.at("speed.1_after_compute")
                marks = new_marks.result()
                # 2. Quarantine
                self.steps.begin("2 quarantine")
                self.tables.append_quarantine(results.quarantine, number)
                faults.at("speed.2_after_quarantine")
                # 3. Views
                self.steps.begin("3 views")
                self._append_views(results, planned)
            # 4. Manifest row
            self.steps.begin("4 manifest")
            epoch = self._epoch(planned, results, marks)
            faults.at("speed.4_before_manifest")
            self.tables.append_manifest(epoch_row(epoch), number)
            self.total = epoch.total
            self.log.committed(marks)
            faults.at("speed.4_after_manifest")
        # 5. Consumer group
        self.steps.begin("5 consumer group")
        self._commit_offsets(planned)
        faults.at("speed.5_after_group")
        # 6. Between epochs: maintenance, then the wait
        self.steps.begin("6 between epochs")
        behind = self.start_maintenance(number)
        steps = {step: asdict(times) for step, times in self.steps.means().items()}
        state = {"epoch": number, "maintenance_behind": behind, "steps": steps}
        state_file.write_state(self.settings, self.run.id, "running", **state)
        self.pacing.wait(planned.size, began)
        faults.at("speed.6_after_maintenance")

    def _append_views(self, results: EpochResults, planned: PlannedEpoch) -> None:
        for view in self.compute.rollups:
            faults.at("speed.3_before_view")
            self.tables.append_view(view, results.partials[view], planned.number)
        for view in self.compute.keyed:
            faults.at("speed.3_before_view")
            if results.view_rows[view]:
                self.tables.append_events(view, results.partials[view], planned.number)
                faults.at("speed.3_before_units")
                units = self.compute.units(view, results.partials[view], planned)
                self.tables.append_view(view, units, planned.number)

    def _require_same_topics(self) -> None:
        """A topic that was deleted and created again is another topic. Waits for a broker that restarts."""
        retry_on(TryAgain, lambda: require_same_topics(self.settings, self.run), _BROKER_DEADLINE, every=0.5)

    def _is_committed(self, planned: PlannedEpoch) -> bool:
        path = table_paths.manifest(self.settings, self.run.id)
        committed = self.tables.transaction_version(path, runs.txn_app(self.run.id))
        if committed is None or committed < planned.number:
            return False
        epoch = epoch_numbered(self.settings, self.run.id, planned.number)
        if epoch is None or epoch.end != planned.end:
            raise Refused(
                f"epoch {planned.number} was committed with other offsets",
                where=path,
                fix=f"the checkpoint is not of this run; {NEW_RUN}",
            )
        return True

    def _epoch(self, planned: PlannedEpoch, results: EpochResults, marks: Marks) -> Epoch:
        if self.total is None:
            last = last_epoch(self.settings, self.run.id)
            self.total = last.total if last else Totals()
        return Epoch(
            number=planned.number,
            start=planned.start,
            end=planned.end,
            counted=results.counted,
            rows=results.view_rows,
            versions={view: self.tables.version(view) for view in self.run.views},
            batch_time_ms=planned.batch_time_ms,
            committed_at=datetime.now(UTC),
            total=self.total + Totals(results.counted, results.view_rows),
            marks=marks,
        )

    def _commit_offsets(self, planned: PlannedEpoch) -> None:
        """Best effort: a busy broker does not stop the run, and the next epoch commits later offsets."""
        with contextlib.suppress(TryAgain):
            kafka_admin.commit_offsets(self.settings, self.run.id, planned.end)


def require_same_topics(settings: Settings, run: Run) -> None:
    """Raises Refused when a topic of the run was deleted and created again since the run was declared."""
    log_checks.require_same_topics(settings, run.topics, where=f"run {run.id}", fix=log_checks.RESTORE_LOG)
