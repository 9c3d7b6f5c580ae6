"""More events than the speed layer reads: the lag while they arrive and after, the rate that it sustains."""

from __future__ import annotations

import threading
import time

from core.evidence.measurement import Measurement
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows.measure import load
from flows.measure.live_system import RATE, SEEDS
from flows.measure.load import TRADES
from flows.study.deploy import serving_run
from flows.study.subject import Subject
from infra import clock
from infra.control.epoch_times import rate, with_records
from infra.control.manifest import last_epoch, read_epochs

_RECORDS = 1_500_000
_EVERY = 0.5
_PATIENCE = 900.0


def overload_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``sustained-rate``, ``lag`` and ``catch-up``: one producer sends all it can."""
    settings, run = subject.settings, serving_run(subject)
    load.wait_for_lag_zero(settings, run)
    before = last_epoch(settings, run)
    first = before.number + 1 if before else 0
    lags: list[tuple[float, int]] = []
    began = time.monotonic()

    def watch(stop: threading.Event) -> None:
        while not stop.wait(_EVERY):
            lags.append((time.monotonic() - began, load.lag(settings, run)))

    with load.in_background(watch):
        _send(subject)
        sent = time.monotonic()
        load.wait_for_lag_zero(settings, run, _PATIENCE)
        caught_up = time.monotonic()
    reading = with_records(read_epochs(settings, run, first=first))
    return [
        subject.row("sustained-rate", rate(reading)),
        subject.row("catch-up", caught_up - sent),
        *(subject.row("lag", behind, x=round(since, 1)) for since, behind in lags),
    ]


def _send(subject: Subject) -> None:
    """Trades of the last minutes, as fast as one process can send them."""
    start = clock.now_ms() - int(_RECORDS * 1_000 / RATE)
    catalog = subject.catalog()
    samples = records(catalog.topic(TRADES), SampleSpec(next(SEEDS), start, RATE), _RECORDS)
    load.send_trades(subject.settings, catalog, samples)
