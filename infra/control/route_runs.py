"""Table control.routes: the runs of routes, and which run owned a route's topics from which cut on.

Rows are appended in the order of ``seq``, one for each step in the life of a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.route_ownership import Ownership
from infra.control.store import TEXT, TIME, ControlTable
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.settings import Settings

Step = Literal["declared", "handover", "owner", "ended"]

TABLE = ControlTable(
    "routes",
    pa.schema(
        {"seq": pa.int64(), "what": TEXT, "route": TEXT, "run": TEXT, "digest": TEXT, "topics": TEXT}
        | {"replays": pa.bool_(), "cut": TEXT, "at": TIME, "who": TEXT}
    ),
)


@dataclass(frozen=True)
class RouteRun:
    """One execution of a route, frozen by digest and topic ids. Its id is its consumer group and is never used twice.

    A run that ``replays`` starts at offset 0, any other at the cut from which it first owned the topics.
    """

    id: Name
    route: Name
    digest: Name
    topics: Mapping[Name, str]
    replays: bool
    ended: bool = False


@dataclass(frozen=True)
class RouteHistory:
    """The runs of a route, the owners of its topics in order, and the run that is taking them over."""

    route: Name
    runs: Mapping[Name, RouteRun]
    ownerships: tuple[Ownership, ...]
    handover: Name | None

    @property
    def owner(self) -> Name | None:
        """The run that writes to the route's topics."""
        return self.ownerships[-1].run if self.ownerships else None

    def start(self, run: RouteRun) -> Cut:
        """The cut at which a run starts."""
        owned_since = next((ownership.since for ownership in self.ownerships if ownership.run == run.id), Cut())
        return Cut() if run.replays else owned_since


def read_histories(settings: Settings) -> Mapping[Name, RouteHistory]:
    """The history of every route that was ever started, by name."""
    rows = sorted(TABLE.read(settings), key=lambda row: row["seq"])
    names = sorted({Name(row["route"]) for row in rows})
    return {name: _history(name, [row for row in rows if row["route"] == name]) for name in names}


def read_history(settings: Settings, route: Name) -> RouteHistory:
    """The history of one route; empty when it was never started."""
    return read_histories(settings).get(route) or RouteHistory(route, {}, (), None)


def read_run(settings: Settings, id: Name) -> RouteRun:
    """One run of a route. Raises Refused when it was never declared."""
    for history in read_histories(settings).values():
        if id in history.runs:
            return history.runs[id]
    raise Refused(f"no route has a run {id}", where="control.routes", fix="see `lk route status`")


def add_step(settings: Settings, lease: Lease, step: Step, run: RouteRun, cut: Cut | None = None) -> None:
    """Writes a step in the life of a run, under the lease "routes"."""
    row: dict[str, Any] = {"seq": len(TABLE.read(settings)), "what": step, "cut": str(cut or Cut())}
    row |= {"route": run.route, "run": run.id, "digest": run.digest, "replays": run.replays}
    row |= {"topics": json.dumps(dict(run.topics)), "at": datetime.now(UTC), "who": current_user()}
    TABLE.append(settings, lease, row)


def _history(name: Name, rows: Sequence[Mapping[str, Any]]) -> RouteHistory:
    ended = {row["run"] for row in rows if row["what"] == "ended"}
    runs = {Name(row["run"]): _run(row, row["run"] in ended) for row in rows if row["what"] == "declared"}
    ownerships = tuple(Ownership(Name(row["run"]), Cut.parse(row["cut"])) for row in rows if row["what"] == "owner")
    transfers = [row for row in rows if row["what"] in ("handover", "owner")]
    open_handover = bool(transfers) and transfers[-1]["what"] == "handover"
    return RouteHistory(name, runs, ownerships, Name(transfers[-1]["run"]) if open_handover else None)


def _run(row: Mapping[str, Any], ended: bool) -> RouteRun:
    topics = {Name(topic): id for topic, id in json.loads(row["topics"]).items()}
    return RouteRun(Name(row["run"]), Name(row["route"]), Name(row["digest"]), topics, row["replays"], ended)
