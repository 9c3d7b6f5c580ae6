"""Reads the tables and views of an instance as sorted lists of rows, without checking them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc
from pyarrow.fs import FileSelector

from core.catalog import Catalog
from core.identifiers import Name, quoted
from core.measures import First, Latest, Max, Min
from core.view import ROWS, View
from infra.lake import delta, files, table_paths
from infra.settings import Settings
from infra.trino import metastore, served_views
from infra.trino.served_views import Served
from tests.support.records.views import rollup

Row = tuple[Any, ...]


@dataclass(frozen=True)
class QuarantineRow:
    """A row of a quarantine: the record's position, its bytes, and its broken rules."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    rule: str


@dataclass(frozen=True)
class Pieces:
    """Readers of the tables and views of one instance."""

    settings: Settings
    catalog: Catalog

    def served(self) -> dict[Name, Served]:
        """The build, run and epoch that each serving view pins."""
        served = served_views.read_served(self.settings, self.catalog.views)
        assert not [view for view, state in served.items() if state.broken], served
        return served

    def merged(self, view: View) -> list[Row]:
        """The rows of a serving view: keys, window, measures, presentation."""
        return self._rows(f"SELECT {_listed(shown(view))} FROM {quoted('lake', 'serving', view.name)}")

    def batch(self, view: View, build: Name) -> list[Row]:
        """The rows of one build: keys, window, measures and the hidden count."""
        rows = delta.read(table_paths.batch(self.settings, Name(view.name), build), measured(view)).to_pylist()
        return in_order(tuple(in_utc(cell) for cell in row.values()) for row in rows)

    def speed(self, view: View, run: Name, after: int) -> list[Row]:
        """The partial rows of a run after an epoch, combined in Python and not by the merge under test."""
        path, since = table_paths.speed(self.settings, run, Name(view.name)), pc.field("first_epoch") > after
        parts: dict[Row, list[dict[str, Any]]] = defaultdict(list)
        keys = [column.name for column in view.identifying_columns]
        for row in delta.read(path, filters=since).to_pylist():
            parts[tuple(in_utc(row[name]) for name in keys)].append(row)
        return in_order((*key, *added_up(view, rows)) for key, rows in parts.items())

    def archived(self, topic: Name) -> list[tuple[int, int, bytes | None, bytes | None]]:
        """Partition, offset, key and value of every archived record, sorted by position."""
        path = table_paths.archive(self.settings, topic, self.catalog.decoder(topic))
        if not delta.exists(path):
            return []
        table = delta.read(path, ["_partition", "_offset", "_key", "_value"])
        return sorted(zip(*(table[name].to_pylist() for name in table.column_names), strict=True), key=lambda r: r[:2])

    def quarantined_by_speed(self, run: Name) -> list[QuarantineRow]:
        """The quarantined records of a run."""
        return _quarantined(table_paths.quarantine(self.settings, run), None)

    def quarantined_by_batch(self) -> list[QuarantineRow]:
        """The archived records with an error."""
        paths = [table_paths.archive(self.settings, t, self.catalog.decoder(t)) for t in self.catalog.topics]
        bad = pc.field("_error").is_valid()
        rows = [row for path in paths if delta.exists(path) for row in _quarantined(path, bad)]
        return sorted(rows, key=position)

    def folded(self, run: Name) -> list[tuple[str, int, int]]:
        """The compacted rows of a run, each from several epochs: view, first and last epoch."""
        folded_rows = []
        for view in self.catalog.views:
            tags = delta.read(table_paths.speed(self.settings, run, view), ["first_epoch", "last_epoch"]).to_pylist()
            folded_rows += [
                (str(view), t["first_epoch"], t["last_epoch"]) for t in tags if t["first_epoch"] < t["last_epoch"]
            ]
        return folded_rows

    def commits(self, run: Name, view: Name) -> list[int]:
        """The epoch of every commit to a speed table, read from the JSON files of the Delta log."""
        epochs = []
        filesystem, root = files.filesystem(f"{table_paths.speed(self.settings, run, view)}/_delta_log")
        logs = [info.path for info in filesystem.get_file_info(FileSelector(root)) if info.extension == "json"]
        for path in sorted(logs):
            with filesystem.open_input_stream(path) as stream:
                actions = [json.loads(line) for line in stream.read().splitlines()]
            epochs += [a["txn"]["version"] for a in actions if "txn" in a and a["txn"]["appId"] == f"{run}/{view}"]
        return epochs

    def _rows(self, sql: str) -> list[Row]:
        return in_order(tuple(in_utc(cell) for cell in row) for row in metastore.query(self.settings, sql).rows)


def added_up(view: View, rows: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """The measures and the hidden count of one key, combined from its partial rows."""
    for measure in rollup(view).measures:
        values = [row[measure.name] for row in rows if row[measure.name] is not None]
        if isinstance(measure, Latest):
            pick = min if isinstance(measure, First) else max
            yield pick(rows, key=lambda row: tuple(row[measure.at].values()))[measure.name]
        elif isinstance(measure, Min | Max):
            yield in_utc((min if isinstance(measure, Min) else max)(values)) if values else None
        else:
            yield sum(values) if values else None
    yield sum(row[ROWS] for row in rows)


def shown(view: View) -> list[str]:
    """The columns of the serving view."""
    return [*(c.name for c in view.stored_columns if not c.name.startswith("_")), *(s.name for s in view.shown)]


def measured(view: View) -> list[str]:
    """The stored columns that the oracle can compute: all except the positions of latest values."""
    return [*(c.name for c in view.stored_columns if not c.name.startswith("_")), ROWS]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows sorted by the text of their cells; keeps repeated rows."""
    return sorted(rows, key=lambda row: [str(cell) for cell in row])


def _quarantined(path: str, where: pc.Expression | None) -> list[QuarantineRow]:
    columns = ["_topic", "_partition", "_offset", "_key", "_value", "_headers", "_error"]
    rows = []
    for row in delta.read(path, columns, where).to_pylist():
        headers = tuple((h["key"], h["value"]) for h in row["_headers"] or ())
        rows.append(
            QuarantineRow(
                row["_topic"], row["_partition"], row["_offset"], row["_key"], row["_value"], headers, row["_error"]
            )
        )
    return sorted(rows, key=position)


def position(row: QuarantineRow) -> tuple[str, int, int]:
    return row.topic, row.partition, row.offset


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def in_utc(cell: Any) -> Any:
    """A cell with its time in UTC, as all readers give it."""
    return cell.astimezone(UTC) if isinstance(cell, datetime) else cell
