"""Figures of the gate: over what the demo sends, and over ten million archived events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.catalog import Catalog
from flows.demo import airflow as demo
from flows.measure import load, run_verb
from flows.measure.figures import Figure
from flows.measure.load import TRADES
from infra.settings import Settings

COUNT = 10_000_000
_MORE = 1_000  # what was judged already would not be judged again
_MOST = 10.0


@dataclass(frozen=True)
class BuiltInstance:
    """An instance without a speed run, with the demo's events in its log."""

    settings: Settings
    catalog: Catalog
    config: Path


def fill(settings: Settings, catalog: Catalog, config: Path) -> BuiltInstance:
    """Sends what the demo sends."""
    load.access_log(settings, catalog)
    load.load(settings, catalog, demo.SEED, demo.COUNT)
    return BuiltInstance(settings, catalog, config)


def gates(judged: BuiltInstance, repeat: int) -> list[Figure]:
    """`lk gate` over builds of the demo's events, again and again, then over builds of COUNT trades."""
    small = [_gate(judged, turn) for turn in range(repeat)]
    load.load(judged.settings, judged.catalog, 100, COUNT - demo.COUNT)
    large = [_gate(judged, repeat + turn) for turn in range(repeat)]
    seconds = tuple(float(found["seconds"]) for found in small)
    how = (
        f"{len(small[0]['checks'])} checks of {len(judged.catalog.views)} views and their topics, over the access log "
        f"and {demo.COUNT:,} trades; with its pages, without the start of Python and Spark"
    )
    figures = [Figure("gate", "all views of the demo judged", "s", seconds, most=_MOST, how=how)]
    for view in judged.catalog.views:
        sources = judged.catalog.views[view].sources
        if TRADES in sources:
            times = tuple(_seconds(found, (view, *(f"topic:{source}" for source in sources))) for found in large)
            what = f"{view} and its topic judged, {COUNT:,} archived trades"
            figures.append(Figure(f"gate {view}", what, "s", times, most=_MOST, how=""))
    return figures


def _gate(judged: BuiltInstance, turn: int) -> Mapping[str, Any]:
    """What `lk gate` says of a build of its own."""
    if turn:
        load.load(judged.settings, judged.catalog, 200 + turn, _MORE)
    for verb in ("claim", "land", "build"):
        run_verb.run(judged.settings, judged.config, verb)
    found: Mapping[str, Any] = run_verb.run(judged.settings, judged.config, "gate")
    return found


def _seconds(found: Mapping[str, Any], suites: tuple[str, ...]) -> float:
    """How long these suites took; each check carries the seconds of its whole suite."""
    taken = {check["view"]: float(check["seconds"]) for check in found["checks"]}
    return sum(taken[suite] for suite in suites)
