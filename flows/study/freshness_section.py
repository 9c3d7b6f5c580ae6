"""Freshness: alone, beside a batch, beside a replay at three throttles; and of a join."""

from __future__ import annotations

import time

from core.evidence.measurement import STEADY, Measurement
from flows.measure import live_system, load
from flows.measure.live_system import LiveInstance
from flows.study.deploy import serving_run
from flows.study.live_flows import beside_a_replay, order_delays, percentile_rows, trade_delays
from flows.study.subject import Subject

WARM_SECONDS = 60.0
_ALONE, _BESIDE, _JOIN = 20.0, 10.0, 10.0
REPLAY_RATES = (25_000, 50_000, 100_000)  # records a second


def freshness_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``freshness`` and ``cpu-live``, after a warm-up."""
    live = subject.live(serving_run(subject))
    trade_delays(live, WARM_SECONDS)
    rows = _steady(subject, live)
    with load.batches(live.settings, live.config):
        rows += percentile_rows(subject, "freshness", trade_delays(live, _ALONE), situation="beside a batch")
    for rate in REPLAY_RATES:
        with beside_a_replay(subject, rate):
            ordered = trade_delays(live, _BESIDE)
        rows += percentile_rows(subject, "freshness", ordered, situation="beside a replay", part=f"{rate:,} records/s")
    joined = order_delays(live, _JOIN)
    return rows + percentile_rows(subject, "freshness", joined, situation=STEADY, view="order_payments")


def _steady(subject: Subject, live: LiveInstance) -> list[Measurement]:
    before, began = live_system.speed_usage(live).cpu, time.monotonic()
    ordered = trade_delays(live, _ALONE)
    cores = (live_system.speed_usage(live).cpu - before) / (time.monotonic() - began)
    return [*percentile_rows(subject, "freshness", ordered, situation=STEADY), subject.row("cpu-live", cores)]
