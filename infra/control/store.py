"""The control tables: claims, builds and publications. Small, append-only, written under a lease with its generation.

A state that changes (intent, done) is a new row; the last row of a subject counts.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.range_rebuild import Rebuild
from infra.lake import delta, leases, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Mode = Literal["lambda", "batch", "speed", "kappa"]
State = Literal["intent", "done", "reverted"]
How = Literal["full", "incremental", "range"]

_TIME = pa.timestamp("us", tz="UTC")
_TEXT = pa.string()
CLAIMS = pa.schema(
    {"build": _TEXT, "run": _TEXT, "epoch": pa.int64(), "cut": _TEXT, "at": _TIME, "who": _TEXT}
    | {"views": _TEXT, "decoders": _TEXT, "rebuild": _TEXT}
)
BUILDS = pa.schema(
    {"build": _TEXT, "view": _TEXT, "digest": _TEXT, "cut": _TEXT, "path": _TEXT, "rows": pa.int64()}
    | {"ledger_ok": pa.bool_(), "checks": _TEXT, "passed": pa.bool_(), "at": _TIME, "seconds": pa.float64()}
    | {"how": _TEXT}
)
PUBLICATIONS = pa.schema(
    {"seq": pa.int64(), "kind": _TEXT, "state": _TEXT, "at": _TIME, "who": _TEXT, "why": _TEXT, "evidence": _TEXT}
    | {"pins": _TEXT, "texts": _TEXT}
)
COMPARISONS = pa.schema(
    {"run": _TEXT, "build": _TEXT, "epoch": pa.int64(), "cut": _TEXT, "head": _TEXT, "view": _TEXT, "digest": _TEXT}
    | {name: pa.int64() for name in ("keys", "only_build", "only_run", "repeated", "cells")}
    | {"first": _TEXT, "trino": pa.bool_(), "at": _TIME, "seconds": pa.float64()}
)
QUALITY = pa.schema(
    dict.fromkeys(("build", "view", "check", "severity"), _TEXT)
    | {"success": pa.bool_(), "unexpected": pa.int64()}
    | dict.fromkeys(("found", "expected", "exception", "first", "detail"), _TEXT)
    | {"at": _TIME, "seconds": pa.float64()}
)
ENDINGS = pa.schema({"run": _TEXT, "how": _TEXT, "at": _TIME, "who": _TEXT, "why": _TEXT})
ROUTES = pa.schema(
    {"seq": pa.int64(), "what": _TEXT, "route": _TEXT, "run": _TEXT, "digest": _TEXT, "topics": _TEXT}
    | {"replays": pa.bool_(), "cut": _TEXT, "at": _TIME, "who": _TEXT}
)
REDRIVES = pa.schema({"seq": pa.int64(), "state": _TEXT, "ends": _TEXT, "origins": _TEXT, "at": _TIME, "who": _TEXT})
_TABLES = {
    "claims": CLAIMS,
    "builds": BUILDS,
    "publications": PUBLICATIONS,
    "comparisons": COMPARISONS,
    "quality": QUALITY,
    "endings": ENDINGS,
    "routes": ROUTES,
    "redrives": REDRIVES,
}
_FENCED = {
    "control": ("claims", "publications", "endings"),
    "batch": ("builds", "quality", "comparisons"),
    "routes": ("routes",),
    "redrives": ("redrives",),
}


@dataclass(frozen=True)
class Claim:
    """A cut that a build is to be complete up to, written before landing; ``run`` and ``epoch`` pair with it.

    Without a run, ``epoch`` is -1 and the cut is where the log ended. A ``rebuild`` copies all but a range of windows.
    """

    build: Name
    run: Name | None
    epoch: int
    cut: Cut
    at: datetime
    who: str
    views: Mapping[Name, Name]
    decoders: Mapping[Name, Name]
    rebuild: Rebuild | None = None


@dataclass(frozen=True)
class Built:
    """One view of one build; ``passed`` is what its gate found, None before it was judged.

    ``checks`` is JSON: what the ledger counted and, once it was judged, why the gate refuses it.
    """

    build: Name
    view: Name
    digest: Name
    cut: Cut
    path: str
    rows: int
    ledger_ok: bool
    checks: str
    passed: bool | None
    at: datetime
    seconds: float
    how: How


@dataclass(frozen=True)
class Pin:
    """What one view serves: a build, the partials of a run after an epoch, or both.

    ``shape`` is a digest of what readers see: columns, presentation and comments.
    """

    build: Name | None
    run: Name | None
    epoch: int
    cut: Cut
    digest: Name
    mode: Mode
    shape: Name


@dataclass(frozen=True)
class Publication:
    """One change of what is served: for every view its pin and its full text; ``evidence`` is JSON."""

    seq: int
    kind: str
    state: State
    at: datetime
    who: str
    why: str
    evidence: str
    pins: Mapping[Name, Pin]
    texts: Mapping[Name, str]


def table_path(settings: Settings, table: str) -> str:
    """Where a control table is."""
    return table_paths.control(settings, Name(table))


@contextlib.contextmanager
def hold(settings: Settings, name: str) -> Iterator[Lease]:
    """Holds the lease "control", "batch", "routes" or "redrives", with the tables that it protects made and fenced."""
    paths = []
    for table in _FENCED[name]:
        paths.append(table_path(settings, table))
        if not delta.exists(paths[-1]):
            delta.create(paths[-1], _TABLES[table])
    with leases.hold(settings, name, fenced=paths) as lease:
        yield lease


def claims(settings: Settings) -> list[Claim]:
    """Every claim, oldest first."""
    return sorted((_claim(row) for row in read(settings, "claims")), key=lambda c: number(c.build))


def claim_of(settings: Settings, build: Name) -> Claim:
    """The claim of a build; Refused when there is none."""
    for claim in claims(settings):
        if claim.build == build:
            return claim
    raise Refused(f"there is no build {build}", where="control.claims", fix="run `lk batch`")


def add_claim(settings: Settings, lease: Lease, claim: Claim) -> None:
    """Writes a claim, under the lease "control"."""
    texts = {"views": json.dumps(claim.views), "decoders": json.dumps(claim.decoders)}
    append(settings, lease, "claims", as_row(claim, **texts, rebuild=claim.rebuild.text if claim.rebuild else None))


def builds(settings: Settings) -> list[Built]:
    """The newest row of every build and view, in the order of builds and views."""
    rows = sorted((_built(row) for row in read(settings, "builds")), key=lambda b: b.at)
    newest = {(number(b.build), b.view): b for b in rows}
    return [newest[key] for key in sorted(newest)]


def add_built(settings: Settings, lease: Lease, *built: Built) -> None:
    """Writes what was built, or what its gate found, in one commit, under the lease "batch"."""
    append(settings, lease, "builds", *map(as_row, built))


def publications(settings: Settings) -> list[Publication]:
    """Every publication in its newest state, oldest first."""
    order = {"intent": 0, "reverted": 1, "done": 2}
    rows = sorted((_publication(row) for row in read(settings, "publications")), key=lambda p: order[p.state])
    newest = {p.seq: p for p in rows}
    return [newest[seq] for seq in sorted(newest)]


def add_publication(settings: Settings, lease: Lease, publication: Publication) -> None:
    """Writes a publication in a new state, under the lease "control"."""
    pins = {view: asdict(pin) | {"cut": str(pin.cut)} for view, pin in publication.pins.items()}
    row = as_row(publication, pins=json.dumps(pins), texts=json.dumps(dict(publication.texts)))
    append(settings, lease, "publications", row)


def build_name(number_: int) -> Name:
    """The id of the n-th build: b000001 and on."""
    return Name(f"b{number_:06d}")


def number(build: Name) -> int:
    """The number in a build's id."""
    return int(build[1:])


def read(settings: Settings, table: str) -> list[dict[str, Any]]:
    """Every row of a control table, in no order; none when it was never written."""
    path = table_path(settings, table)
    rows: list[dict[str, Any]] = delta.read(path).to_pylist() if delta.exists(path) else []
    return rows


def append(settings: Settings, lease: Lease, table: str, *rows: Mapping[str, Any]) -> None:
    """Writes rows in one commit, under the lease that protects the table."""
    leases.append(lease, table_path(settings, table), pa.Table.from_pylist(list(rows), schema=_TABLES[table]))


def as_row(value: DataclassInstance, **changed: str | None) -> dict[str, Any]:
    """A dataclass as a row of its table: cuts as text, and what the caller changed."""
    found = {name: getattr(value, name) for name in value.__dataclass_fields__}
    return {name: str(v) if isinstance(v, Cut) else v for name, v in found.items()} | changed


def _claim(row: Mapping[str, Any]) -> Claim:
    return Claim(
        build=Name(row["build"]),
        run=_name(row["run"]),
        epoch=row["epoch"],
        cut=Cut.parse(row["cut"]),
        at=row["at"],
        who=row["who"],
        views=_names(row["views"]),
        decoders=_names(row["decoders"]),
        rebuild=Rebuild.parse(text) if (text := row.get("rebuild")) else None,  # an older lake has no such column
    )


def _built(row: Mapping[str, Any]) -> Built:
    named = {name: Name(row[name]) for name in ("build", "view", "digest")}
    return Built(**{**row, **named, "cut": Cut.parse(row["cut"])})


def _publication(row: Mapping[str, Any]) -> Publication:
    pins = {Name(view): _pin(pin) for view, pin in json.loads(row["pins"]).items()}
    texts = {Name(view): text for view, text in json.loads(row["texts"]).items()}
    return Publication(**{**row, "pins": pins, "texts": texts})


def _pin(pin: Mapping[str, Any]) -> Pin:
    return Pin(
        build=_name(pin["build"]),
        run=_name(pin["run"]),
        epoch=pin["epoch"],
        cut=Cut.parse(pin["cut"]),
        digest=Name(pin["digest"]),
        mode=pin["mode"],
        shape=Name(pin["shape"]),
    )


def _name(text: str | None) -> Name | None:
    return Name(text) if text else None


def _names(text: str) -> dict[Name, Name]:
    return {Name(key): Name(value) for key, value in json.loads(text).items()}
