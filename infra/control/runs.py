"""Runs and their epochs: what was declared, and the manifest of what was committed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from infra.control import route_runs
from infra.kafka import kafka_admin
from infra.lake import delta, table_paths
from infra.settings import Settings

_STAMP = pa.timestamp("us", tz="UTC")
_RUNS = pa.schema(
    [(n, pa.string()) for n in ("id", "kind", "views", "topics", "decoders", "start", "head", "note")]
    + [("created_at", _STAMP)]
)


Kind = Literal["live", "replay"]


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


def fresh_id(settings: Settings) -> Name:
    """An id that no run and no consumer group has had: ``r000001`` and on."""
    used = [str(run.id) for run in read_runs(settings)] + list(kafka_admin.consumer_groups(settings))
    used += [row["run"] for row in route_runs.TABLE.read(settings)]
    numbers = [int(name[1:]) for name in used if re.fullmatch(r"r\d{6,}", name)]
    return Name(f"r{max(numbers, default=0) + 1:06d}")


def declare(settings: Settings, run: Run) -> None:
    """Records a run before it starts. Raises Refused when its id was ever used, here or as a consumer group."""
    path = _table(settings)
    delta.create(path, _RUNS)
    taken = any(known.id == run.id for known in read_runs(settings)) or kafka_admin.group_exists(settings, run.id)
    if taken or delta.append_once(path, _row(run), f"run/{run.id}", 1) is None:
        raise Refused(f"the run id {run.id} was used before", where=path, fix="start a new run: `lk speed start --new`")


def read_runs(settings: Settings) -> tuple[Run, ...]:
    """Every run that was declared, oldest first."""
    path = _table(settings)
    if not delta.exists(path):
        return ()
    return tuple(
        _run(row) for row in delta.read(path).sort_by([("created_at", "ascending"), ("id", "ascending")]).to_pylist()
    )


def read_run(settings: Settings, id: Name) -> Run:
    """One run. Raises Refused when it was never declared."""
    for known in read_runs(settings):
        if known.id == id:
            return known
    raise Refused(f"there is no run {id}", where=_table(settings), fix="see `lk speed status`")


def txn_app(id: Name, part: str = "_epochs") -> str:
    """The Delta ``txn`` app id of one table of a run."""
    return f"{id}/{part}"


def archive_app(id: Name, part: str = "_epochs") -> str:
    """The Delta ``txn`` app id of what a run took from the archive."""
    return f"{id}/head/{part}"


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
