"""Runs that came to an end: abandoned before they served, or retired after. Their ids stay used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from core.identifiers import Name
from infra.control import store
from infra.lake.leases import Lease
from infra.settings import Settings


@dataclass(frozen=True)
class Ending:
    """The end of a run: how, when, by whom and why."""

    run: Name
    how: Literal["abandoned", "retired"]
    at: datetime
    who: str
    why: str


def endings(settings: Settings) -> Mapping[Name, Ending]:
    """Every run that has ended."""
    rows = store.read(settings, "endings")
    return {Name(row["run"]): Ending(**{**row, "run": Name(row["run"])}) for row in rows}


def add(settings: Settings, lease: Lease, ending: Ending) -> None:
    """Writes the end of a run, under the lease "control"; before its tables go."""
    store.append(settings, lease, "endings", store.as_row(ending))
