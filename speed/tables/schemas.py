"""The tables of a run and their schemas: partial rows per view, kept events, quarantine and manifest."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from core.catalog import Catalog
from core.compute.keyed_events import HASH, PACKED_COLUMNS, TIME
from core.event_columns import ERROR, SOURCE_COLUMNS
from core.identifiers import Name
from core.measures import Column
from core.view import Keyed, View
from infra.control.manifest import EPOCHS
from infra.control.runs import Run
from infra.lake import delta, table_paths
from infra.lake.arrow_types import arrow_schema
from infra.settings import Settings

FIRST = Column("first_epoch", "bigint")
LAST = Column("last_epoch", "bigint")
EPOCH = Column("epoch", "bigint")
FILE_ROWS = 100_000  # of a keyed view's events per file, sorted as ``event_order`` says: an epoch then reads few files
QUARANTINED = (*(Column(*column) for column in SOURCE_COLUMNS.values()), Column(ERROR, "string"))


def partial_schema(view: View) -> pa.Schema:
    """A view's speed table: its stored columns, and the range of epochs of a row."""
    return arrow_schema([*view.stored_columns, FIRST, LAST])


def quarantine_schema() -> pa.Schema:
    """The quarantine: every column of a Kafka record, the rules that it broke, and its epoch."""
    return arrow_schema([*QUARANTINED, EPOCH])


def events_schema() -> pa.Schema:
    """The events of a keyed view that a run keeps, each with its epoch."""
    return arrow_schema([*PACKED_COLUMNS, EPOCH])


def event_order(view: Keyed) -> str:
    """The column by which the kept events of a view are sorted: what an epoch skips, it skips by this column."""
    return HASH if view.reach is None else TIME


def clustered_paths(settings: Settings, catalog: Catalog, run: Run) -> list[str]:
    """The kept events that are clustered by key: those of keyed views without a reach."""
    views = {view: catalog.view(view) for view in sorted(run.views)}
    clustered = [name for name, view in views.items() if isinstance(view, Keyed) and event_order(view) == HASH]
    return [table_paths.events(settings, run.id, Name(name)) for name in clustered]


def create(settings: Settings, catalog: Catalog, run: Run) -> None:
    """Creates every missing table of the run, and the missing columns of an older program's manifest.

    All get today's ``retention_minutes``.
    """
    manifest = table_paths.manifest(settings, run.id)
    if delta.exists(manifest):
        delta.add_missing_columns(manifest, EPOCHS)
    retention = f"interval {settings.retention_minutes} minutes"
    for path, schema in _tables(settings, catalog, run):
        delta.create(path, schema, log_retention=retention)
        delta.set_retention(path, retention)


def paths(settings: Settings, catalog: Catalog, run: Run) -> list[str]:
    """Every table of the run; the views' come first."""
    return [path for path, _ in _tables(settings, catalog, run)]


def tagged(rows: pa.Table, schema: pa.Schema, **tags: int) -> pa.Table:
    """The rows with constant columns added, as ``schema`` declares them."""
    for name, value in tags.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.int64()))
    return rows.select(schema.names).cast(schema)


def _tables(settings: Settings, catalog: Catalog, run: Run) -> Iterator[tuple[str, pa.Schema]]:
    for view in sorted(run.views):
        yield table_paths.speed(settings, run.id, Name(view)), partial_schema(catalog.view(view))
    for view in sorted(run.views):
        if isinstance(catalog.view(view), Keyed):
            yield table_paths.events(settings, run.id, Name(view)), events_schema()
    yield table_paths.quarantine(settings, run.id), quarantine_schema()
    yield table_paths.manifest(settings, run.id), EPOCHS
