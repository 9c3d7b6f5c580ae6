"""Figures of a replay beside a living system: its rate, its share of the raw consumer's, and what it costs readers."""

from __future__ import annotations

import time

from core.errors import Refused
from flows import replays, speed
from flows.bench.bulk import BulkInstance
from flows.measure import live_system, load, raw_consumer, run_verb
from flows.measure.figures import Figure
from flows.measure.freshness import Freshness
from flows.measure.live_system import RATE, Live
from infra.control import runs
from infra.control.epochs import last_epoch
from infra.settings import Settings

_WINDOW = 10.0  # seconds of one measurement, at least; it ends with an epoch
_WARM = 3  # epochs before the first measurement: Java compiles meanwhile
_WARM_THROTTLED = 8  # the same for smaller epochs
_SHARE = 0.4  # of its full rate, for the replay that is throttled


def replaying(bulk: BulkInstance, repeat: int) -> list[Figure]:
    """A replay at full rate, then throttled, while the live run follows 1,000 trades a second."""
    raw = raw_consumer.rate(bulk.settings, load.TRADES)
    run_verb.run(bulk.settings, bulk.config, "batch")
    speed.start(bulk.settings, bulk.catalog)
    live = Live(bulk.settings, bulk.catalog, bulk.config, runs.read_runs(bulk.settings)[-1].id)
    live_system.warm_up(live)
    alone = live_system.sample(live, _WINDOW, repeat)
    state = replays.start(bulk.settings, bulk.catalog)
    assert state.run
    replayed = Live(bulk.settings, bulk.catalog, bulk.config, state.run)
    with load.flowing(bulk.settings, bulk.catalog, next(live_system.SEEDS), RATE):
        load.wait_for(lambda: _epochs(replayed) >= _WARM, "the replay's first epochs", every=1.0)
        rates = [_rate(replayed) for _ in range(repeat)]
    replays.abandon(bulk.settings, state.run)
    throttled = _beside_a_throttled(bulk, live, int(_SHARE * sorted(rates)[len(rates) // 2]), repeat)
    return [*_rates(bulk.settings, rates, raw), _ratio(alone, throttled)]


def _beside_a_throttled(bulk: BulkInstance, live: Live, rate: int, repeat: int) -> list[Freshness]:
    """The live run's freshness beside a replay that is held to a rate, and that has records left at the end."""
    state = replays.start(bulk.settings, bulk.catalog, rate=rate)
    assert state.run
    replayed = Live(bulk.settings, bulk.catalog, bulk.config, state.run)
    load.wait_for(lambda: _epochs(replayed) >= _WARM_THROTTLED, "the throttled replay's first epochs", every=1.0)
    found = live_system.sample(live, _WINDOW, repeat)
    if replays.status(bulk.settings, state.run).caught_up:
        raise Refused("the throttled replay had nothing left to read", fix="repeat fewer times")
    replays.abandon(bulk.settings, state.run)
    return found


def _rate(replayed: Live) -> float:
    """Records a second between the commits of two epochs that are a window apart."""
    first = last_epoch(replayed.settings, replayed.run)
    assert first
    until = time.time() + _WINDOW
    load.wait_for(lambda: _committed(replayed) > until, "an epoch of the replay", every=1.0)
    last = last_epoch(replayed.settings, replayed.run)
    assert last
    return last.end.size_since(first.end) / (last.committed_at - first.committed_at).total_seconds()


def _committed(replayed: Live) -> float:
    last = last_epoch(replayed.settings, replayed.run)
    return last.committed_at.timestamp() if last else 0.0


def _epochs(replayed: Live) -> int:
    last = last_epoch(replayed.settings, replayed.run)
    return last.number + 1 if last else 0


def _rates(settings: Settings, rates: list[float], raw: float) -> list[Figure]:
    how = (
        f"all views, epochs of {settings.replay_offsets_per_trigger:,}, {len(rates)} × {_WINDOW:.0f} s or more, "
        f"after the first {_WARM} epochs, while the live run follows {RATE:,.0f} trades a second"
    )
    share = f"the same, divided by what a raw Python consumer reads on the same log, alone: {raw:,.0f} records/s"
    return [
        Figure("replay", "records replayed from offset zero", "records/s", tuple(rates), least=250_000, how=how),
        Figure("replay share", "of the raw consumer's rate", "", tuple(rate / raw for rate in rates), how=share),
    ]


def _ratio(alone: list[Freshness], throttled: list[Freshness]) -> Figure:
    without = sorted(one.p99 for one in alone)[len(alone) // 2]
    how = f"p99 while a replay is throttled to {_SHARE:.0%} of its full rate, divided by {without:.2f} s without one"
    values = tuple(one.p99 / without for one in throttled)
    return Figure("replay freshness", "live p99 beside a throttled replay, ratio", "×", values, most=2.0, how=how)
