"""Refuses an epoch that a folded partial row crosses: that row would be lost, or counted twice."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from core.compute.epoch_range import crosses
from core.errors import Refused
from core.identifiers import Name
from infra.control.pins import Pin
from infra.lake import delta, table_paths
from infra.settings import Settings


def require_uncrossed(settings: Settings, pins: Mapping[Name, Pin]) -> None:
    """Raises Refused if a folded partial row crosses a pinned epoch."""
    for view, pin in pins.items():
        if pin.run is not None:
            path = table_paths.speed(settings, pin.run, view)
            rows = delta.read(path, columns=["first_epoch", "last_epoch"], filters=crosses(pc.field, pin.epoch))
            refuse_crossing(rows.num_rows, view, pin.epoch, where=path, fix="run `lk batch` again for a newer cut")


def refuse_crossing(rows: int, view: Name, epoch: int, *, where: str, fix: str) -> None:
    """Raises Refused unless the number of partial rows that cross an epoch is 0."""
    if rows:
        raise Refused(f"{rows} partial rows of view {view} were folded across epoch {epoch}", where=where, fix=fix)
