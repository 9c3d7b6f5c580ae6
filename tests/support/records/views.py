"""Narrows views to rollups, for tests that need a rollup's fields."""

from __future__ import annotations

from collections.abc import Iterable

from core.view import Rollup, View


def rollup(view: View) -> Rollup:
    """The view as a rollup. Fails on another kind."""
    assert isinstance(view, Rollup)
    return view


def rollups(views: Iterable[View]) -> tuple[Rollup, ...]:
    """The views as rollups. Fails on another kind."""
    return tuple(map(rollup, views))
