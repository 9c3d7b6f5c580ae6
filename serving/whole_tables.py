"""Refuses to serve damaged tables: an empty or lost log entry would silently give fewer rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.errors import Refused
from core.identifiers import Name
from infra.control.pins import Pin
from infra.lake import delta, table_paths
from infra.settings import Settings


def require_whole(settings: Settings, pins: Mapping[Name, Pin]) -> None:
    """Raises Refused when a table that a pin names is damaged."""
    for path in _paths(settings, pins):
        delta.require_whole(path)


def damages(settings: Settings, pins: Mapping[Name, Pin]) -> list[str]:
    """A problem for each damaged table that a pin names."""
    problems = []
    for path in _paths(settings, pins):
        try:
            delta.require_whole(path)
        except Refused as e:
            problems.append(f"{e.what}: {e.where}; {e.fix}")
    return problems


def _paths(settings: Settings, pins: Mapping[Name, Pin]) -> Iterator[str]:
    for view, pin in pins.items():
        if pin.build:
            yield table_paths.batch(settings, view, pin.build)
        if pin.run:
            yield table_paths.speed(settings, pin.run, view)
