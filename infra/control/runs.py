"""Table control.runs: the declared runs of the speed job."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.errors import NEW_RUN, Refused
from core.identifiers import Name
from infra.control import route_runs
from infra.control.store import TEXT, TIME, ControlTable, as_row, bound_files, later_than_stored
from infra.kafka import kafka_admin
from infra.lake import delta, durable, idempotent_writes
from infra.settings import Settings

# "head" is the stored name of the prefix, from the first lakes
TABLE = ControlTable(
    "runs",
    pa.schema(
        dict.fromkeys(("id", "kind", "views", "topics", "decoders", "start", "head", "note"), TEXT)
        | {"created_at": TIME}
    ),
)
Kind = Literal["live", "replay"]


@dataclass(frozen=True)
class Run:
    """What the speed job computes: views and topics frozen by digest and topic id, from a declared start.

    ``prefix`` is the cut up to which a replay reads the archive, where Kafka has removed the first records.
    """

    id: Name
    views: Mapping[Name, Name]
    topics: Mapping[Name, str]
    decoders: Mapping[Name, Name]
    start: Cut
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    note: str = ""
    kind: Kind = "live"
    prefix: Cut = field(default_factory=Cut)

    @property
    def origin(self) -> Cut:
        """The start of the first epoch that reads Kafka."""
        return self.prefix if self.prefix.ends else self.start


def new_run_id(settings: Settings) -> Name:
    """The next id that no run and no consumer group ever had: ``r000001`` and on."""
    used = [str(run.id) for run in read_runs(settings)] + list(kafka_admin.consumer_groups(settings))
    used += [row["run"] for row in route_runs.TABLE.read(settings)]
    numbers = [int(name[1:]) for name in used if re.fullmatch(r"r\d{6,}", name)]
    return Name(f"r{max(numbers, default=0) + 1:06d}")


def declare_run(settings: Settings, run: Run) -> Run:
    """Writes a run before it starts, created after all others; Refused when a run or a group ever had its id."""
    path = TABLE.path(settings)
    delta.create(path, TABLE.schema)
    others = read_runs(settings)
    run = replace(run, created_at=later_than_stored(run.created_at, (other.created_at for other in others)))
    used = any(other.id == run.id for other in others) or kafka_admin.group_exists(settings, run.id)
    version = None if used else idempotent_writes.append_once(path, _row(run), f"run/{run.id}", 1)
    if version is None:
        raise Refused(f"the run id {run.id} was used before", where=path, fix=NEW_RUN)
    durable.sync_commit(path, version)
    bound_files(path, delta.table(path))
    return run


def read_runs(settings: Settings) -> tuple[Run, ...]:
    """Every declared run, oldest first."""
    return tuple(sorted(map(_run, TABLE.read(settings)), key=lambda run: (run.created_at, run.id)))


def read_run(settings: Settings, id: Name) -> Run:
    """One run. Raises Refused when it was never declared."""
    for run in read_runs(settings):
        if run.id == id:
            return run
    raise Refused(f"there is no run {id}", where=TABLE.path(settings), fix="see `lk speed status`")


def txn_app(id: Name, part: str = "_epochs") -> str:
    """The Delta ``txn`` app id of one table of a run."""
    return f"{id}/{part}"


def archive_app(id: Name, part: str = "_epochs") -> str:
    """The Delta ``txn`` app id of the rows that a run computed from the archive."""
    return f"{id}/head/{part}"  # a stored name, see the column "head"


def _row(run: Run) -> pa.Table:
    mappings = {"views": run.views, "topics": run.topics, "decoders": run.decoders}
    row = as_row(run, **{column: json.dumps(dict(mapping), sort_keys=True) for column, mapping in mappings.items()})
    return pa.Table.from_pylist([row | {"head": str(run.prefix)}], schema=TABLE.schema)


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
        prefix=Cut.parse(row["head"]),
    )
