"""Views of one kind, for tests that need what only that kind has."""

from __future__ import annotations

from collections.abc import Iterable

from core.view import Rollup, View


def rollup(view: View) -> Rollup:
    """The view, which must be a rollup."""
    assert isinstance(view, Rollup)
    return view


def rollups(views: Iterable[View]) -> tuple[Rollup, ...]:
    """The views, all of which must be rollups."""
    return tuple(map(rollup, views))
