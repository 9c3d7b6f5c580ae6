"""Table control.publications: each change of the served views, as an intent and its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from core.identifiers import Name
from infra.control.pins import Pin, pins_from_json, pins_to_json
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake.leases import Lease
from infra.settings import Settings

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


def pinned_epochs(settings: Settings, run: Name) -> set[int]:
    """The epochs of a run that publications pin; the SQL texts are not read."""
    naming = {row["pins"] for row in TABLE.read(settings, ("pins",)) if run in row["pins"]}
    return {pin.epoch for pins in naming for pin in pins_from_json(pins).values() if pin.run == run}


def add_publication(settings: Settings, lease: Lease, publication: Publication) -> None:
    """Writes a publication in a new state, under the lease "control"."""
    evidence = json.dumps(publication.evidence, sort_keys=True)
    pins, texts = pins_to_json(publication.pins), json.dumps(dict(publication.texts))
    TABLE.append(settings, lease, as_row(publication, evidence=evidence, pins=pins, texts=texts))


def _publication(row: Mapping[str, Any]) -> Publication:
    texts = {Name(view): text for view, text in json.loads(row["texts"]).items()}
    evidence, pins = json.loads(row["evidence"]), pins_from_json(row["pins"])
    return Publication(**{**row, "evidence": evidence, "pins": pins, "texts": texts})
