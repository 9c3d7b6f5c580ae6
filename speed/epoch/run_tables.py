"""Appends an epoch's rows to the run's Delta tables, each part once: a part's ``txn`` version is the epoch's number."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.identifiers import Name
from core.view import Keyed
from infra.control import runs
from infra.control.runs import Run
from infra.lake import checksums, delta, table_paths
from infra.lake.appended_table import AppendedTable
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.epoch.topic_results import Rows
from speed.tables import schemas


class RunTables:
    """The tables of a run, opened once; every append checks the run's lease."""

    def __init__(self, settings: Settings, catalog: Catalog, run: Run, lease: Lease) -> None:
        self.settings = settings
        self.run = run
        self.lease = lease
        views = {view: catalog.view(view) for view in run.views}
        keyed = {name: view for name, view in views.items() if isinstance(view, Keyed)}
        self._event_orders = {name: schemas.event_order(view) for name, view in keyed.items()}
        self._view_schemas = {name: schemas.partial_schema(view) for name, view in views.items()}
        self._opened: dict[str, AppendedTable] = {}

    def append_quarantine(self, parts: list[Rows], number: int) -> None:
        """Appends the epoch's bad records."""
        path = table_paths.quarantine(self.settings, self.run.id)
        self._append(path, "_quarantine", parts, number, schemas.quarantine_schema(), epoch=number)

    def append_view(self, view: Name, parts: list[Rows], number: int) -> None:
        """Appends the partial rows of a rollup, or the rows of a keyed view's units."""
        path = table_paths.speed(self.settings, self.run.id, view)
        self._append(path, view, parts, number, self._view_schemas[view], first_epoch=number, last_epoch=number)

    def append_events(self, view: Name, parts: list[Rows], number: int) -> None:
        """Appends the epoch's events of a keyed view to those that the run keeps."""
        path = table_paths.events(self.settings, self.run.id, view)
        by = self._event_orders[view]
        ordered = [part if part.frame is None else Rows(frame=part.frame.sortWithinPartitions(by)) for part in parts]
        self._append(path, f"{view}/events", ordered, number, schemas.events_schema(), epoch=number)

    def append_manifest(self, row: pa.Table, number: int) -> None:
        """Appends the epoch's row to the manifest."""
        self._append_arrow(table_paths.manifest(self.settings, self.run.id), "_epochs", row, number)

    def version(self, view: Name) -> int:
        """The Delta version of a view's table."""
        return self._table(table_paths.speed(self.settings, self.run.id, view)).version()

    def transaction_version(self, path: str, app: str) -> int | None:
        """The last epoch that ``app`` committed to a table, as of when the table was last read."""
        return self._table(path).transaction_version(app)

    def _append(self, path: str, part: str, rows: list[Rows], number: int, schema: pa.Schema, **tags: int) -> None:
        frames = [r.frame for r in rows if r.frame is not None]
        assert not frames or len(frames) == len(rows), "a table's rows are all collected or none"
        collected = [schemas.tagged(r.table, schema, **tags) for r in rows if r.table is not None]
        if frames:
            self._append_spark(path, part, frames, number, schema, **tags)
        elif any(table.num_rows for table in collected):
            self._append_arrow(path, part, pa.concat_tables(collected), number)

    def _append_arrow(self, path: str, part: str, rows: pa.Table, number: int) -> None:
        self._table(path).append_once(rows, runs.txn_app(self.run.id, part), number, self.lease)

    def _append_spark(
        self, path: str, part: str, frames: list[DataFrame], number: int, schema: pa.Schema, **tags: int
    ) -> None:
        """Spark skips an (app, version) that was committed before, and refuses one that is committed concurrently."""
        app = runs.txn_app(self.run.id, part)
        with delta.mutex(path):
            table = self._table(path)
            table.refresh()
            self.lease.check_against(table)
            self.lease.check()
            committed = table.transaction_version(app)
            if committed is not None and committed >= number:
                return
            values = {name: fn.lit(value).cast("bigint") for name, value in tags.items()}
            rows = reduce(DataFrame.unionByName, frames).withColumns(values).select(*schema.names)
            writer = rows.write.format("delta").mode("append")
            writer.option("maxRecordsPerFile", schemas.FILE_ROWS)
            writer.option("txnAppId", app).option("txnVersion", number).save(path)
            table.refresh()
            checksums.record(path, table.version())

    def _table(self, path: str) -> AppendedTable:
        if path not in self._opened:
            self._opened[path] = AppendedTable(path)
        return self._opened[path]
