"""Figures of the gate: on the demo's events, and on ten million archived events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.catalog import Catalog
from flows.demo import airflow
from flows.measure import load, run_verb
from flows.measure.figures import Figure
from flows.measure.load import TRADES
from infra.settings import Settings

COUNT = 10_000_000
_MORE = 1_000  # without new records the gate would not run again
_MOST = 10.0


@dataclass(frozen=True)
class BuiltInstance:
    """An instance without a speed run, with the demo's events in Kafka."""

    settings: Settings
    catalog: Catalog
    config: Path


def fill(settings: Settings, catalog: Catalog, config: Path) -> BuiltInstance:
    """Sends the events of the demo."""
    load.send_access_log(settings, catalog)
    load.send_count(settings, catalog, airflow.SEED, airflow.COUNT)
    return BuiltInstance(settings, catalog, config)


def gates(built: BuiltInstance, repeat: int) -> list[Figure]:
    """`lk gate` on builds of the demo's events, then on builds of COUNT trades."""
    small = [_gate(built, turn) for turn in range(repeat)]
    load.send_count(built.settings, built.catalog, 100, COUNT - airflow.COUNT)
    large = [_gate(built, repeat + turn) for turn in range(repeat)]
    seconds = tuple(float(gate["seconds"]) for gate in small)
    how = (
        f"{len(small[0]['checks'])} checks of {len(built.catalog.views)} views and their topics, over the access log "
        f"and {airflow.COUNT:,} trades; with its HTML pages, without the start of Python and Spark"
    )
    figures = [Figure("gate", "gate of all views of the demo", "s", seconds, most=_MOST, how=how)]
    for view in built.catalog.views:
        sources = built.catalog.views[view].sources
        if TRADES in sources:
            times = tuple(_seconds(gate, (view, *(f"topic:{source}" for source in sources))) for gate in large)
            what = f"gate of {view} and its topic, {COUNT:,} archived trades"
            figures.append(Figure(f"gate {view}", what, "s", times, most=_MOST, how=""))
    return figures


def _gate(built: BuiltInstance, turn: int) -> Mapping[str, Any]:
    """Builds once more and returns the output of `lk gate`."""
    if turn:
        load.send_count(built.settings, built.catalog, 200 + turn, _MORE)
    for verb in ("claim", "land", "build"):
        run_verb.run(built.settings, built.config, verb)
    output: Mapping[str, Any] = run_verb.run(built.settings, built.config, "gate")
    return output


def _seconds(gate: Mapping[str, Any], suites: tuple[str, ...]) -> float:
    """Seconds of these suites; every check has the seconds of its whole suite."""
    by_suite = {check["view"]: float(check["seconds"]) for check in gate["checks"]}
    return sum(by_suite[suite] for suite in suites)
