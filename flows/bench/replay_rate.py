"""Figures of a replay beside a live system: its rate, its share of a raw consumer's rate, its effect on freshness."""

from __future__ import annotations

import time

from core.errors import Refused
from flows import replays, speed
from flows.bench.bulk import BulkInstance
from flows.measure import live_system, load, raw_consumer, run_verb
from flows.measure.figures import Figure
from flows.measure.freshness import Freshness
from flows.measure.live_system import RATE, LiveInstance
from infra.control import runs
from infra.control.manifest import last_epoch
from infra.settings import Settings

_WINDOW = 10.0  # minimum seconds of a measurement, which ends with an epoch
_WARM = 3  # epochs before the first measurement, while the JVM compiles
_WARM_THROTTLED = 8  # the same for smaller epochs
_SHARE = 0.4  # of the full rate, for the throttled replay


def replays_beside_live(bulk: BulkInstance, repeat: int) -> list[Figure]:
    """A replay at full rate, then a throttled one, while the live run reads 1,000 trades a second."""
    raw = raw_consumer.rate(bulk.settings, load.TRADES)
    run_verb.run(bulk.settings, bulk.config, "batch")
    speed.start(bulk.settings, bulk.catalog)
    live = LiveInstance(bulk.settings, bulk.catalog, bulk.config, runs.read_runs(bulk.settings)[-1].id)
    live_system.warm_up(live)
    alone = live_system.sample(live, _WINDOW, repeat)
    state = replays.start(bulk.settings, bulk.catalog)
    assert state.run
    replayed = LiveInstance(bulk.settings, bulk.catalog, bulk.config, state.run)
    with load.flowing(bulk.settings, bulk.catalog, next(live_system.SEEDS), RATE):
        load.wait_for(lambda: _epochs(replayed) >= _WARM, "the replay's first epochs", every=1.0)
        rates = [_rate(replayed) for _ in range(repeat)]
    replays.abandon(bulk.settings, state.run)
    throttled = _freshness_beside_throttled(bulk, live, int(_SHARE * sorted(rates)[len(rates) // 2]), repeat)
    return [*_rates(bulk.settings, rates, raw), _ratio(alone, throttled)]


def _freshness_beside_throttled(bulk: BulkInstance, live: LiveInstance, rate: int, repeat: int) -> list[Freshness]:
    """Freshness of the live run beside a throttled replay. Raises Refused if the replay catches up meanwhile."""
    state = replays.start(bulk.settings, bulk.catalog, rate=rate)
    assert state.run
    replayed = LiveInstance(bulk.settings, bulk.catalog, bulk.config, state.run)
    load.wait_for(lambda: _epochs(replayed) >= _WARM_THROTTLED, "the throttled replay's first epochs", every=1.0)
    samples = live_system.sample(live, _WINDOW, repeat)
    if replays.status(bulk.settings, state.run).caught_up:
        raise Refused("the throttled replay caught up during the measurement", fix="use a smaller --repeat")
    replays.abandon(bulk.settings, state.run)
    return samples


def _rate(replayed: LiveInstance) -> float:
    """Records a second between the commits of two epochs, at least _WINDOW seconds apart."""
    first = last_epoch(replayed.settings, replayed.run)
    assert first
    until = time.time() + _WINDOW
    load.wait_for(lambda: _committed(replayed) > until, "an epoch of the replay", every=1.0)
    last = last_epoch(replayed.settings, replayed.run)
    assert last
    return last.end.size_since(first.end) / (last.committed_at - first.committed_at).total_seconds()


def _committed(replayed: LiveInstance) -> float:
    last = last_epoch(replayed.settings, replayed.run)
    return last.committed_at.timestamp() if last else 0.0


def _epochs(replayed: LiveInstance) -> int:
    last = last_epoch(replayed.settings, replayed.run)
    return last.number + 1 if last else 0


def _rates(settings: Settings, rates: list[float], raw: float) -> list[Figure]:
    how = (
        f"all views, epochs of {settings.replay_offsets_per_trigger:,}, {len(rates)} × {_WINDOW:.0f} s or more, "
        f"after the first {_WARM} epochs, while the live run reads {RATE:,.0f} trades a second"
    )
    share = f"the same, divided by the rate of a raw Python consumer alone on the same topic: {raw:,.0f} records/s"
    return [
        Figure("replay", "records replayed from offset 0", "records/s", tuple(rates), least=250_000, how=how),
        Figure("replay share", "of the raw consumer's rate", "", tuple(rate / raw for rate in rates), how=share),
    ]


def _ratio(alone: list[Freshness], throttled: list[Freshness]) -> Figure:
    without = sorted(sample.p99 for sample in alone)[len(alone) // 2]
    how = f"p99 while a replay is throttled to {_SHARE:.0%} of its full rate, divided by {without:.2f} s without one"
    values = tuple(sample.p99 / without for sample in throttled)
    return Figure("replay freshness", "live p99 beside a throttled replay, ratio", "×", values, most=2.0, how=how)
