"""Events that flow while something is measured, and the delays until queries count them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from core.evidence.measurement import Measurement
from core.identifiers import Name
from flows import replays
from flows.measure import demo_queries, live_system, load
from flows.measure.freshness import delays, measuring, percentile
from flows.measure.live_system import SEEDS, LiveInstance
from flows.study.history import send_at_rate
from flows.study.subject import Subject
from infra.control.manifest import last_epoch
from infra.trino.metastore import query

PERCENTILES = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
ORDERS, ORDERS_RATE = Name("orders"), 200.0


def trade_delays(live: LiveInstance, seconds: float) -> list[float]:
    """Sends 1,000 trades a second; the sorted seconds from due to visible, of every one."""
    meter = live_system.metered(live, seconds)
    return sorted(delays(meter.due, meter.answers))


def order_delays(live: LiveInstance, seconds: float) -> list[float]:
    """Sends orders of the join, each a row of its own before it is paid; the sorted seconds from due to visible."""
    load.wait_for_lag_zero(live.settings, live.run)
    sql = f"SELECT count(*) FROM {demo_queries.served(Name('order_payments'))} WHERE side = 'order'"  # noqa: S608
    with measuring(lambda: int(query(live.settings, sql).rows[0][0])) as meter:
        send_at_rate(live.settings, live.catalog, ORDERS, next(SEEDS), ORDERS_RATE, seconds, meter.on_send)
        meter.result()
    return sorted(delays(meter.due, meter.answers))


def percentile_rows(
    subject: Subject, question: str, ordered: Sequence[float], *, situation: str = "", part: str = "", view: str = ""
) -> list[Measurement]:
    """One row for each percentile of sorted values."""
    return [
        subject.row(question, percentile(ordered, x), situation=situation, part=part, view=view, x=x)
        for x in PERCENTILES
    ]


@contextmanager
def beside_a_replay(subject: Subject, rate: int) -> Iterator[None]:
    """A replay of at most ``rate`` records a second runs during the block; then it is abandoned."""
    state = replays.start(subject.settings, subject.catalog(), rate=rate)
    run = state.run
    assert run is not None
    load.wait_for(lambda: last_epoch(subject.settings, run) is not None, "the replay's first epoch")
    try:
        yield
    finally:
        replays.abandon(subject.settings, run)
