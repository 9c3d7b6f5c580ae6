"""The tables of a run: partials per view, the manifest and the quarantine, all made before epoch 0."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from core.catalog import Catalog
from core.decode import ERROR, SOURCE_COLUMNS
from core.ident import Name
from core.measures import Column
from core.view import View
from infra import delta, lake, runs
from infra.runs import Run
from infra.settings import Settings

FIRST = Column("first_epoch", "bigint")
LAST = Column("last_epoch", "bigint")
QUARANTINED = (*(Column(*column) for column in SOURCE_COLUMNS.values()), Column(ERROR, "string"))


def partial_schema(view: View) -> pa.Schema:
    """What a view's speed table holds: its stored columns, and the epochs that a row is made of."""
    return delta.arrow_schema([*view.stored_columns, FIRST, LAST])


def quarantine_schema() -> pa.Schema:
    """Everything Kafka gave for a record, the rule it broke, and the epoch that read it."""
    return delta.arrow_schema([*QUARANTINED, Column("epoch", "bigint")])


def create(settings: Settings, catalog: Catalog, run: Run) -> None:
    """Makes every table of the run that is missing, with declared types."""
    for path, schema in _tables(settings, catalog, run):
        delta.create(path, schema, log_retention=delta.HOUR)


def paths(settings: Settings, run: Run) -> list[str]:
    """Every table of the run; the views' come first."""
    views = [lake.speed(settings, run.id, view) for view in sorted(run.views)]
    return [*views, lake.quarantine(settings, run.id), lake.manifest(settings, run.id)]


def tagged(rows: pa.Table, schema: pa.Schema, **tags: int) -> pa.Table:
    """The rows with constant columns added, as ``schema`` declares them."""
    for name, value in tags.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.int64()))
    return rows.select(schema.names).cast(schema)


def _tables(settings: Settings, catalog: Catalog, run: Run) -> Iterator[tuple[str, pa.Schema]]:
    for view in run.views:
        yield lake.speed(settings, run.id, Name(view)), partial_schema(catalog.view(view))
    yield lake.quarantine(settings, run.id), quarantine_schema()
    yield lake.manifest(settings, run.id), runs.EPOCHS
