"""Table control.publications: each change of the served views, as an intent and its outcome."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.identifiers import Name
from infra.control.audit import AuditHead
from infra.control.pins import Pin, pins_from_json, pins_to_json
from infra.control.store import TEXT, TIME, ControlTable, as_row, optional_name
from infra.lake.leases import Lease
from infra.settings import Settings

PublicationState = Literal["intent", "done", "reverted"]
TABLE = ControlTable(
    "publications",
    pa.schema(
        {"seq": pa.int64(), "kind": TEXT, "state": TEXT, "at": TIME, "who": TEXT, "why": TEXT, "evidence": TEXT}
        | {"pins": TEXT, "texts": TEXT, "audit": TEXT}
    ),
)
_AT_ONCE = 50  # publications whose pins are read together
_ORDER = {"intent": 0, "reverted": 1, "done": 2}  # which state of a publication is newer


@dataclass(frozen=True)
class Publication:
    """One change of the served views, with the pin and the full SQL of each.

    The keys of ``evidence`` depend on ``kind``. ``audit`` is the head of the audit when it was made.
    """

    seq: int
    kind: str
    state: PublicationState
    at: datetime
    who: str
    why: str
    evidence: Mapping[str, Any]
    pins: Mapping[Name, Pin]
    sql: Mapping[Name, str]
    audit: str | None = None


@dataclass(frozen=True)
class Change:
    """A publication without its SQL texts and its evidence, which are most of a row of the table."""

    seq: int
    kind: str
    state: PublicationState
    at: datetime
    who: str
    why: str
    pins: Mapping[Name, Pin]


def recent_changes(settings: Settings, count: int) -> list[Change]:
    """The last ``count`` publications in their newest state, oldest first."""
    seqs = _numbers(settings)[-count:]
    columns = tuple(Change.__dataclass_fields__)
    rows = TABLE.read(settings, columns, pc.field("seq").isin(seqs)) if len(seqs) else []
    newest = {row["seq"]: row for row in sorted(rows, key=lambda row: _ORDER[row["state"]])}
    return [Change(**{**newest[seq], "pins": pins_from_json(newest[seq]["pins"])}) for seq in sorted(newest)]


def read_publications(settings: Settings) -> list[Publication]:
    """Every publication in its newest state, oldest first, with all SQL texts: for a history of years it takes seconds.

    Most callers need the last one only (``last_done``, ``open_intent``, ``last_number``).
    """
    by_state = sorted(map(_publication, TABLE.read(settings)), key=lambda publication: _ORDER[publication.state])
    newest = {publication.seq: publication for publication in by_state}
    return [newest[seq] for seq in sorted(newest)]


def last_number(settings: Settings) -> int:
    """The number of the last publication; 0 without any."""
    return pc.max(_numbers(settings)).as_py() or 0


def last_done(settings: Settings) -> Publication | None:
    """The last complete publication."""
    return _last(settings, "done")


def open_intent(settings: Settings) -> Publication | None:
    """The last publication that is neither finished nor reverted."""
    return _last(settings, "intent")


def completed_pins(settings: Settings) -> Iterator[tuple[int, Mapping[Name, Pin]]]:
    """Number and pins of the complete publications, newest first; a few texts are read at a time, when asked for."""
    completed = _numbers(settings, "done")[::-1]
    for first in range(0, len(completed), _AT_ONCE):
        numbers = completed[first : first + _AT_ONCE]
        rows = TABLE.read(settings, ("seq", "pins"), pc.field("seq").isin(numbers) & (pc.field("state") == "done"))
        for seq, pins in sorted({row["seq"]: row["pins"] for row in rows}.items(), reverse=True):
            yield seq, pins_from_json(pins)


def done_publication(settings: Settings, seq: int) -> Publication | None:
    """The complete publication with this number."""
    return next(_read(settings, seq, "done"), None)


def audit_heads(settings: Settings) -> list[AuditHead]:
    """The heads of the audit that publications have recorded, each once; the SQL texts are not read."""
    texts = {row["audit"] for row in TABLE.read(settings, ("audit",)) if row["audit"]}
    return [AuditHead.parse(text) for text in sorted(texts)]


def has_served(settings: Settings, run: Name) -> bool:
    """Whether a complete publication ever pinned a run."""
    naming = pc.match_substring(pc.field("pins"), json.dumps(run)) & (pc.field("state") == "done")
    texts = {row["pins"] for row in TABLE.read(settings, ("pins",), naming)}
    return any(pin["run"] == run for text in texts for pin in json.loads(text).values())


def pinned_epochs(settings: Settings, run: Name, builds: Collection[Name]) -> set[tuple[Name, Name | None, int]]:
    """View, build and epoch of the pins of a run with one of the builds or with none; the SQL texts are not read."""
    named = [f'"build": {json.dumps(build)}' for build in sorted({None, *builds}, key=str)]
    with_build = reduce(or_, (pc.match_substring(pc.field("pins"), text) for text in named))
    naming = pc.match_substring(pc.field("pins"), json.dumps(run)) & with_build
    texts = {row["pins"] for row in TABLE.read(settings, ("pins",), naming)}
    pins = ((Name(view), pin) for text in texts for view, pin in json.loads(text).items() if pin["run"] == run)
    return {(view, optional_name(pin["build"]), pin["epoch"]) for view, pin in pins}


def _last(settings: Settings, state: PublicationState) -> Publication | None:
    seq = pc.max(_numbers(settings, state)).as_py()
    return None if seq is None else next(_read(settings, seq, state))


def _numbers(settings: Settings, newest: PublicationState | None = None) -> pa.Array:
    """The numbers of all publications, or of those whose newest state is ``newest``, in order.

    They stay in Arrow: a history of years has 20,000 rows, and each step asks for its last ones.
    """
    rows = TABLE.read_arrow(settings, ("seq", "state")).combine_chunks()
    if newest is not None:
        newer = pa.array([state for state, order in _ORDER.items() if order > _ORDER[newest]], TEXT)
        left = pc.unique(rows["seq"].filter(pc.is_in(rows["state"], newer)))
        rows = rows.filter((pc.field("state") == newest) & ~pc.field("seq").isin(left))
    numbers = pc.unique(rows["seq"])
    return numbers.take(pc.sort_indices(numbers))


def _read(settings: Settings, seq: int, state: PublicationState) -> Iterator[Publication]:
    rows = TABLE.read(settings, where=(pc.field("seq") == seq) & (pc.field("state") == state))
    return map(_publication, reversed(rows))


def add_publication(settings: Settings, lease: Lease, *publications: Publication) -> None:
    """Writes publications in a new state, in one commit, under the lease "control"."""
    TABLE.append(settings, lease, *map(_row, publications))


def _row(publication: Publication) -> dict[str, Any]:
    evidence = json.dumps(publication.evidence, sort_keys=True)
    pins, texts = pins_to_json(publication.pins), json.dumps(dict(publication.sql))
    row = as_row(publication, evidence=evidence, pins=pins, texts=texts)
    return {column: row[column] for column in TABLE.schema.names}


def _publication(row: Mapping[str, Any]) -> Publication:
    fields = {name: value for name, value in row.items() if name != "texts"}
    sql = {Name(view): text for view, text in json.loads(row["texts"]).items()}
    evidence, pins = json.loads(row["evidence"]), pins_from_json(row["pins"])
    return Publication(**{**fields, "evidence": evidence, "pins": pins, "sql": sql})
