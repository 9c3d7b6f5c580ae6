"""Runs and their epochs: what was declared, and the manifest of what was committed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.record_counts import RecordCounts
from infra.control import route_runs
from infra.kafka import kafka_admin
from infra.lake import delta, table_paths
from infra.settings import Settings

_STAMP = pa.timestamp("us", tz="UTC")
_RUNS = pa.schema(
    [(n, pa.string()) for n in ("id", "kind", "views", "topics", "decoders", "start", "head", "note")]
    + [("created_at", _STAMP)]
)
EPOCHS = pa.schema(
    [("number", pa.int64())]
    + [(name, pa.string()) for name in ("start", "end", "counted", "rows", "versions")]
    + [("batch_time_ms", pa.int64()), ("committed_at", _STAMP)]
)


Kind = Literal["live", "replay"]
HEAD = -1  # the number of the epoch that the archive gave, before Kafka's epochs


@dataclass(frozen=True)
class Run:
    """One execution of the speed job: views and topics frozen by digest and topic id, from a declared start.

    ``head`` is how far the archive is read instead of Kafka, for a replay of a log whose head was deleted.
    """

    id: Name
    views: Mapping[Name, Name]
    topics: Mapping[Name, str]
    decoders: Mapping[Name, Name]
    start: Cut
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    note: str = ""
    kind: Kind = "live"
    head: Cut = field(default_factory=Cut)

    @property
    def origin(self) -> Cut:
        """Where Kafka's first epoch begins."""
        return self.head if self.head.ends else self.start


@dataclass(frozen=True)
class Epoch:
    """One committed micro-batch. ``counted`` has a key ``topic/partition`` for every partition that had offsets.

    ``rows`` are view rows counted apart from the grouping; ``versions`` is the Delta version of each view's table.
    """

    number: int
    start: Cut
    end: Cut
    counted: Mapping[str, RecordCounts]
    rows: Mapping[Name, int]
    versions: Mapping[Name, int]
    batch_time_ms: int
    committed_at: datetime


def fresh_id(settings: Settings) -> Name:
    """An id that no run and no consumer group has had: ``r000001`` and on."""
    used = [str(run.id) for run in runs(settings)] + list(kafka_admin.groups(settings))
    used += [row["run"] for row in route_runs.TABLE.read(settings)]
    numbers = [int(name[1:]) for name in used if re.fullmatch(r"r\d{6,}", name)]
    return Name(f"r{max(numbers, default=0) + 1:06d}")


def declare(settings: Settings, run: Run) -> None:
    """Records a run before it starts. Raises Refused when its id was ever used, here or as a consumer group."""
    path = _table(settings)
    delta.create(path, _RUNS)
    taken = any(known.id == run.id for known in runs(settings)) or kafka_admin.group_exists(settings, run.id)
    if taken or delta.append_once(path, _row(run), f"run/{run.id}", 1) is None:
        raise Refused(f"the run id {run.id} was used before", where=path, fix="start a new run: `lk speed start --new`")


def runs(settings: Settings) -> tuple[Run, ...]:
    """Every run that was declared, oldest first."""
    path = _table(settings)
    if not delta.exists(path):
        return ()
    return tuple(
        _run(row) for row in delta.read(path).sort_by([("created_at", "ascending"), ("id", "ascending")]).to_pylist()
    )


def run(settings: Settings, id: Name) -> Run:
    """One run. Raises Refused when it was never declared."""
    for known in runs(settings):
        if known.id == id:
            return known
    raise Refused(f"there is no run {id}", where=_table(settings), fix="see `lk speed status`")


def epochs(settings: Settings, id: Name) -> tuple[Epoch, ...]:
    """Every committed epoch of a run, in order."""
    path = table_paths.manifest(settings, id)
    if not delta.exists(path):
        return ()
    return tuple(_epoch(row) for row in delta.read(path).sort_by("number").to_pylist())


def last_epoch(settings: Settings, id: Name) -> Epoch | None:
    """The newest committed epoch of a run."""
    path = table_paths.manifest(settings, id)
    if not delta.exists(path):
        return None
    opened = delta.table(path)
    newest = opened.transaction_version(app(id))
    if newest is None and opened.transaction_version(head_app(id)) is None:
        return None
    number = HEAD if newest is None else newest
    rows = delta.rows_of(opened, filters=pc.field("number") == number).to_pylist()
    return _epoch(rows[0]) if rows else None


def epoch_at(settings: Settings, id: Name, cut: Cut) -> Epoch | None:
    """The epoch whose end equals the cut in every partition; the run's start is epoch -1."""
    declared = run(settings, id)
    if declared.start == cut and not declared.head.ends:
        return Epoch(-1, cut, cut, {}, {}, {}, 0, declared.created_at)
    return next((epoch for epoch in epochs(settings, id) if epoch.end == cut), None)


def app(id: Name, part: str = "_epochs") -> str:
    """The Delta ``txn`` app id of one table of a run."""
    return f"{id}/{part}"


def head_app(id: Name, part: str = "_epochs") -> str:
    """The Delta ``txn`` app id of what a run took from the archive."""
    return f"{id}/head/{part}"


def epoch_row(epoch: Epoch) -> pa.Table:
    """The manifest row of an epoch."""
    counted = {place: counts.as_list for place, counts in sorted(epoch.counted.items())}
    row: dict[str, Any] = {
        "number": epoch.number,
        "start": str(epoch.start),
        "end": str(epoch.end),
        "counted": json.dumps(counted),
        "rows": json.dumps(dict(epoch.rows), sort_keys=True),
        "versions": json.dumps(dict(epoch.versions), sort_keys=True),
        "batch_time_ms": epoch.batch_time_ms,
        "committed_at": epoch.committed_at,
    }
    return pa.Table.from_pylist([row], schema=EPOCHS)


def _epoch(row: Mapping[str, Any]) -> Epoch:
    return Epoch(
        number=row["number"],
        start=Cut.parse(row["start"]),
        end=Cut.parse(row["end"]),
        counted={key: RecordCounts(*values) for key, values in json.loads(row["counted"]).items()},
        rows={Name(view): n for view, n in json.loads(row["rows"]).items()},
        versions={Name(view): n for view, n in json.loads(row["versions"]).items()},
        batch_time_ms=row["batch_time_ms"],
        committed_at=row["committed_at"],
    )


def _row(run: Run) -> pa.Table:
    maps = {"views": run.views, "topics": run.topics, "decoders": run.decoders}
    row: dict[str, Any] = {key: json.dumps(dict(value), sort_keys=True) for key, value in maps.items()}
    row |= {"id": run.id, "kind": run.kind, "start": str(run.start), "head": str(run.head)}
    row |= {"note": run.note, "created_at": run.created_at}
    return pa.Table.from_pylist([row], schema=_RUNS)


def _run(row: Mapping[str, Any]) -> Run:
    return Run(
        id=Name(row["id"]),
        views={Name(k): Name(v) for k, v in json.loads(row["views"]).items()},
        topics={Name(k): v for k, v in json.loads(row["topics"]).items()},
        decoders={Name(k): Name(v) for k, v in json.loads(row["decoders"]).items()},
        start=Cut.parse(row["start"]),
        created_at=row["created_at"],
        note=row["note"] or "",
        kind=row["kind"],
        head=Cut.parse(row["head"]),
    )


def _table(settings: Settings) -> str:
    return table_paths.control(settings, Name("runs"))
