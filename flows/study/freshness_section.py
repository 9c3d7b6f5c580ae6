"""Freshness: alone, beside a batch, beside a replay at three throttles; and of a join."""

from __future__ import annotations

import time

from core.evidence.measurement import Measurement
from flows.measure import load
from flows.measure.live_system import LiveInstance
from flows.study.deploy import serving_run
from flows.study.live_flows import beside_a_replay, order_delays, percentile_rows, trade_delays
from flows.study.subject import Subject
from infra.local import local_processes, resource_usage
from speed.process import background

WARM_SECONDS = 60.0
_STEADY, _BESIDE, _JOIN = 20.0, 10.0, 10.0
REPLAY_RATES = (25_000, 50_000, 100_000)  # records a second


def freshness_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``freshness`` and ``cpu-live``, after a warm-up."""
    live = subject.live(serving_run(subject))
    trade_delays(live, WARM_SECONDS)
    rows = _steady(subject, live)
    with load.batches(live.settings, live.config):
        rows += percentile_rows(subject, "freshness", trade_delays(live, _STEADY), situation="beside a batch")
    for rate in REPLAY_RATES:
        with beside_a_replay(subject, rate):
            ordered = trade_delays(live, _BESIDE)
        rows += percentile_rows(subject, "freshness", ordered, situation="beside a replay", part=f"{rate:,} records/s")
    joined = order_delays(live, _JOIN)
    return rows + percentile_rows(subject, "freshness", joined, situation="steady", view="order_payments")


def _steady(subject: Subject, live: LiveInstance) -> list[Measurement]:
    before, began = _cpu(live), time.monotonic()
    ordered = trade_delays(live, _STEADY)
    cores = (_cpu(live) - before) / (time.monotonic() - began)
    return [*percentile_rows(subject, "freshness", ordered, situation="steady"), subject.row("cpu-live", cores)]


def _cpu(live: LiveInstance) -> float:
    """CPU seconds that the speed process has used so far."""
    process = local_processes.running_process(live.settings, background.name(live.run))
    return resource_usage.usage_of(process.pid).cpu if process else 0.0
