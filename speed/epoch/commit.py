"""The commit protocol of an epoch. Whatever step the process dies at, doing the epoch again ends in the same state.

0. The lease is still ours (every commit below carries its generation) and the topics are the ones declared.
1. Start and end offsets come from the checkpoint's offset log, so a retry has the same records. An epoch whose
   manifest row is there already is skipped.
2. Everything is computed before anything is written; the ledger must account for every offset.
3. Bad records are appended to the quarantine, as ``txn(run/_quarantine, epoch)``.
4. Each rollup's partial is appended to its table, as ``txn(run/view, epoch)``; an empty partial is no commit. Events of
   keyed views are appended to what the run keeps of them; then their units are computed from that, and appended.
5. The manifest row is appended, as ``txn(run/_epochs, epoch)``: from now on the epoch is committed.
6. The end offsets are committed to the run's consumer group, for people and lag monitors; nothing reads them back.
7. Maintenance that is due runs beside the next epochs.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import TIME
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra import faults
from infra.control import runs
from infra.control.epochs import Epoch, epoch_row, read_epochs
from infra.control.runs import Run
from infra.kafka import kafka_admin, log_checks
from infra.lake import delta, table_paths
from infra.lake.leases import Lease
from infra.local.epoch_lock import run_epoch
from infra.retry import retry_on
from infra.settings import Settings
from speed.epoch import offset_log
from speed.epoch.compute_epoch import EpochComputer, EpochResults
from speed.epoch.offset_log import PlannedEpoch
from speed.epoch.result_rows import Rows
from speed.process import priority, throttle
from speed.tables import schemas

_BROKER_DEADLINE = 60.0


class StopRequested(Exception):
    """The run was told to stop; the epoch that was about to start has written nothing."""


class EpochSink:
    """What Spark calls with every micro-batch."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        run: Run,
        lease: Lease,
        compute: EpochComputer,
        after: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.settings = settings
        self.run = run
        self.lease = lease
        self.compute = compute
        self.after = after
        self.stopping = threading.Event()
        self.idle = threading.Event()
        self.idle.set()
        self.failure: BaseException | None = None
        self.most: int | None = None  # records a second, for a run that is throttled
        self.serving = True  # whether anybody reads what the run writes
        self._schemas = {view: schemas.partial_schema(catalog.view(view)) for view in run.views}
        self._opened: dict[str, DeltaTable] = {}

    def __call__(self, records: DataFrame, number: int) -> None:
        """Commits one epoch; Spark's ``foreachBatch`` function."""
        self.idle.clear()
        try:
            self._commit(records, number)
        except BaseException as e:
            self.failure = e
            raise
        finally:
            self.idle.set()

    def _commit(self, records: DataFrame, number: int) -> None:
        if self.stopping.is_set():
            raise StopRequested
        began = time.monotonic()
        faults.reach("speed.0_before_epoch")
        self._same_topics()
        planned = offset_log.planned_epoch(self.settings, self.run, number)
        if self._is_committed(planned):
            self._show_offsets(planned)
            return
        big = planned.size > self.settings.max_offsets_per_trigger
        priority.claim_priority(self.settings, self.run.id, wanted=big and self.most is None)
        with run_epoch(self.settings, self.run.id, self.settings.lease_seconds):
            self._write_epoch(records, planned)
        self._show_offsets(planned)
        faults.reach("speed.6_after_group")
        offset_log.write_state(self.settings, self.run.id, "running", epoch=number)
        self.after(number)
        throttle.pause(planned.size, began, self.most, self.stopping)
        if planned.size < self.settings.max_offsets_per_trigger:
            priority.pause(self.settings, self.run.id, began, self.stopping, serving=self.serving)
        faults.reach("speed.8_after_maintenance")

    def _write_epoch(self, records: DataFrame, planned: PlannedEpoch) -> None:
        """Quarantine, every view, then the manifest, which makes it count."""
        number = planned.number
        with self.compute.computed(records, planned) as computed:
            faults.reach("speed.1_before_quarantine")
            self._quarantine(computed, number)
            faults.reach("speed.2_after_quarantine")
            for view in self.compute.rollups:
                faults.reach("speed.3_before_view")
                self._append(view, computed.partials[view], number)
            for view in self.compute.keyed:
                faults.reach("speed.3_before_view")
                if computed.view_rows[view]:
                    self._keep(view, computed.partials[view], number)
                    faults.reach("speed.3_before_units")
                    self._append(view, self.compute.units(view, computed.partials[view], planned), number)
        versions = {view: self._version(view) for view in self.run.views}
        faults.reach("speed.4_after_views")
        self._manifest(planned, computed, versions)
        faults.reach("speed.5_after_manifest")

    def _same_topics(self) -> None:
        """A topic that was deleted and created again is another topic. Waits for a broker that restarts."""
        retry_on(TryAgain, lambda: require_same_topics(self.settings, self.run), _BROKER_DEADLINE, every=0.5)

    def _is_committed(self, planned: PlannedEpoch) -> bool:
        path = table_paths.manifest(self.settings, self.run.id)
        done = self._handle(path).transaction_version(runs.txn_app(self.run.id))
        if done is None or done < planned.number:
            return False
        there = read_epochs(self.settings, self.run.id)
        same = [epoch for epoch in there if epoch.number == planned.number and epoch.end == planned.end]
        if len(same) != 1:
            raise Refused(
                f"epoch {planned.number} was committed with other offsets",
                where=path,
                fix="the checkpoint is not of this run: `lk speed start --new`",
            )
        return True

    def _quarantine(self, computed: EpochResults, number: int) -> None:
        path = table_paths.quarantine(self.settings, self.run.id)
        self._write(path, "_quarantine", computed.quarantine, number, schemas.quarantine_schema(), epoch=number)

    def _keep(self, view: Name, parts: list[Rows], number: int) -> None:
        path = table_paths.events(self.settings, self.run.id, view)
        parts = [Rows(frame=p.frame.sortWithinPartitions(TIME)) if p.frame is not None else p for p in parts]
        self._write(path, f"{view}/events", parts, number, schemas.events_schema(), epoch=number)

    def _append(self, view: Name, parts: list[Rows], number: int) -> None:
        path = table_paths.speed(self.settings, self.run.id, view)
        self._write(path, view, parts, number, self._schemas[view], first_epoch=number, last_epoch=number)

    def _version(self, view: Name) -> int:
        return int(self._handle(table_paths.speed(self.settings, self.run.id, view)).version())

    def _manifest(self, planned: PlannedEpoch, computed: EpochResults, versions: dict[Name, int]) -> None:
        epoch = Epoch(
            number=planned.number,
            start=planned.start,
            end=planned.end,
            counted=computed.counted,
            rows=computed.view_rows,
            versions=versions,
            batch_time_ms=planned.batch_time_ms,
            committed_at=datetime.now(UTC),
        )
        self._append_arrow(
            table_paths.manifest(self.settings, self.run.id), "_epochs", epoch_row(epoch), planned.number
        )

    def _show_offsets(self, planned: PlannedEpoch) -> None:
        """A broker that is busy does not stop the run: the next epoch tells it again."""
        with contextlib.suppress(TryAgain):
            kafka_admin.commit_offsets(self.settings, self.run.id, planned.end)

    def _write(self, path: str, part: str, parts: list[Rows], number: int, schema: pa.Schema, **tags: int) -> None:
        frames = [p.frame for p in parts if p.frame is not None]
        collected = [schemas.tagged(p.rows, schema, **tags) for p in parts if p.rows is not None]
        if frames:
            self._append_spark(path, part, frames, number, schema, **tags)
        elif any(rows.num_rows for rows in collected):
            self._append_arrow(path, part, pa.concat_tables(collected), number)

    def _append_arrow(self, path: str, part: str, rows: pa.Table, number: int) -> None:
        app = runs.txn_app(self.run.id, part)
        delta.append_once(path, rows, app, number, lease=self.lease, opened=self._handle(path))

    def _append_spark(
        self, path: str, part: str, frames: list[DataFrame], number: int, schema: pa.Schema, **tags: int
    ) -> None:
        """Spark skips a (app, version) that is there and refuses one that comes in between."""
        app = runs.txn_app(self.run.id, part)
        with delta.mutex(path):
            opened = self._handle(path)
            opened.update_incremental()
            self.lease.check_against(opened)
            self.lease.check()
            done = opened.transaction_version(app)
            if done is not None and done >= number:
                return
            values = {name: fn.lit(value).cast("bigint") for name, value in tags.items()}
            whole = reduce(DataFrame.unionByName, frames).withColumns(values).select(*schema.names)
            writer = whole.write.format("delta").mode("append")
            writer.option("maxRecordsPerFile", schemas.FILE_ROWS)
            writer.option("txnAppId", app).option("txnVersion", number).save(path)
            opened.update_incremental()

    def _handle(self, path: str) -> DeltaTable:
        if path not in self._opened:
            self._opened[path] = delta.table(path)
        return self._opened[path]


def require_same_topics(settings: Settings, run: Run) -> None:
    """Raises Refused when a topic of the run was deleted and created again since the run was declared."""
    log_checks.require_same_topics(
        settings, run.topics, where=f"run {run.id}", fix="start a new run: `lk speed start --new`"
    )
