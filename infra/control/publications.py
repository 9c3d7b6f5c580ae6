"""Table control.publications: each change of the served views, as an intent and its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row, optional_name
from infra.lake.leases import Lease
from infra.settings import Settings

Mode = Literal["lambda", "batch", "speed", "kappa"]
PublicationState = Literal["intent", "done", "reverted"]
TABLE = ControlTable(
    "publications",
    pa.schema(
        {"seq": pa.int64(), "kind": TEXT, "state": TEXT, "at": TIME, "who": TEXT, "why": TEXT, "evidence": TEXT}
        | {"pins": TEXT, "texts": TEXT}
    ),
)
_ORDER = {"intent": 0, "reverted": 1, "done": 2}


@dataclass(frozen=True)
class Pin:
    """What one view serves: a build, the partial rows of a run after an epoch, or both.

    ``shape`` is a digest of what readers can see of the definition: columns, presentation and comments.
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
    """One change of the served views, with the pin and the full SQL text of each.

    The keys of ``evidence`` depend on ``kind``.
    """

    seq: int
    kind: str
    state: PublicationState
    at: datetime
    who: str
    why: str
    evidence: Mapping[str, Any]
    pins: Mapping[Name, Pin]
    texts: Mapping[Name, str]


def read_publications(settings: Settings) -> list[Publication]:
    """Every publication in its newest state, oldest first."""
    by_state = sorted(map(_publication, TABLE.read(settings)), key=lambda publication: _ORDER[publication.state])
    newest = {publication.seq: publication for publication in by_state}
    return [newest[seq] for seq in sorted(newest)]


def add_publication(settings: Settings, lease: Lease, publication: Publication) -> None:
    """Writes a publication in a new state, under the lease "control"."""
    pins = {view: asdict(pin) | {"cut": str(pin.cut)} for view, pin in publication.pins.items()}
    evidence = json.dumps(publication.evidence, sort_keys=True)
    texts = json.dumps(dict(publication.texts))
    TABLE.append(settings, lease, as_row(publication, evidence=evidence, pins=json.dumps(pins), texts=texts))


def _publication(row: Mapping[str, Any]) -> Publication:
    pins = {Name(view): _pin(pin) for view, pin in json.loads(row["pins"]).items()}
    texts = {Name(view): text for view, text in json.loads(row["texts"]).items()}
    return Publication(**{**row, "evidence": json.loads(row["evidence"]), "pins": pins, "texts": texts})


def _pin(pin: Mapping[str, Any]) -> Pin:
    return Pin(
        build=optional_name(pin["build"]),
        run=optional_name(pin["run"]),
        epoch=pin["epoch"],
        cut=Cut.parse(pin["cut"]),
        digest=Name(pin["digest"]),
        mode=pin["mode"],
        shape=Name(pin["shape"]),
    )
