"""Figures of what passwords, TLS and rights cost: a secured instance beside one without, measured in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from flows import replays, speed
from flows.measure import live_system, load
from flows.measure.figures import Figure
from flows.measure.freshness import percentile
from flows.measure.live_system import LiveInstance
from infra.control import runs
from infra.control.manifest import last_epoch, read_epochs
from infra.settings import Settings

COUNT = 2_000_000  # trades that a replay reads
_RATIO = 1.15  # a secured instance may take this much longer
_SECONDS = 20.0  # of a measurement of freshness
_QUERIES = 60
_WARM = 2  # epochs of a replay that do not count, while the JVM compiles
CHANGED = {"replay_offsets_per_trigger": 250_000}  # settings of both: a replay has eight epochs


@dataclass(frozen=True)
class SecuredPair:
    """An instance without passwords and a secured one, each with a running speed process and COUNT trades."""

    plain: LiveInstance
    secured: LiveInstance


def open_live(settings: Settings, catalog: Catalog, config: Path) -> LiveInstance:
    """Sends the access log and COUNT trades, starts the speed layer and warms it up."""
    load.send_access_log(settings, catalog)
    load.send_count(settings, catalog, next(live_system.SEEDS), COUNT)
    speed.start(settings, catalog)
    live = LiveInstance(settings, catalog, config, runs.read_runs(settings)[-1].id)
    load.wait_for_lag_zero(settings, live.run)
    live_system.warm_up(live)
    return live


def costs(pair: SecuredPair, repeat: int) -> list[Figure]:
    """The ratio of each measure, secured by plain, and both values. Each repetition measures one after the other."""
    figures = []
    for name, (what, unit, measure) in _MEASURES.items():
        turns = [(measure(pair.plain), measure(pair.secured)) for _ in range(repeat)]
        plain, secured = (tuple(turn[place] for turn in turns) for place in (0, 1))
        ratios = tuple(after / before for before, after in turns)
        how = f"{what}; {repeat} × in turn, each with its own brokers, Trino and run, which stay up meanwhile"
        figures += [
            Figure(f"secured {name}", f"{what}: with passwords by without", "×", ratios, most=_RATIO, how=how),
            Figure(f"secured {name} with", what, unit, secured),
            Figure(f"secured {name} without", what, unit, plain),
        ]
    return figures


def _fresh(live: LiveInstance) -> float:
    return live_system.sample(live, _SECONDS, 1)[0].p50


def _query(live: LiveInstance) -> float:
    sql = live_system.fixed_range(live.settings)
    return percentile(sorted(live_system.query_seconds(live.settings, sql) for _ in range(_QUERIES)), 50)


def _replay(live: LiveInstance) -> float:
    """Seconds of a replay for a million records, without its first epochs."""
    settings, catalog = live.settings, live.catalog
    run = replays.start(settings, catalog).run
    assert run
    load.wait_for_lag_zero(settings, run)
    first, last = read_epochs(settings, run)[_WARM - 1], last_epoch(settings, run)
    assert last
    replays.abandon(settings, run)
    seconds = (last.committed_at - first.committed_at).total_seconds()
    return seconds / last.end.size_since(first.end) * 1_000_000


_MEASURES: Mapping[str, tuple[str, str, Callable[[LiveInstance], float]]] = {
    "freshness": (f"event sent to visible in Trino, p50 of {_SECONDS:.0f} s with 1,000 trades a second", "s", _fresh),
    "query": (f"merged query over a fixed key range, p50 of {_QUERIES}", "s", _query),
    "replay": (f"replay from offset zero, a million records after the first {_WARM} epochs", "s", _replay),
}
