"""`lk bench growth`: the rate and the CPU time of replays that differ in one thing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from core.catalog import Catalog
from core.identifiers import Name
from flows import replays
from flows.bench.growth.growth_cases import LABELS, RECORDS, GrowthCase, cases
from flows.bench.growth.growth_log import growth_records
from flows.bench.peers.cpu_clock import cpu_clock
from flows.bench.peers.reading_rate import ReadingRate, reading_rate, with_cpu
from flows.measure import load
from flows.measure.console import note
from flows.measure.figures import Figure
from infra import clock
from infra.control.manifest import read_epochs
from infra.local.ports import free_ports
from infra.local.spark_workers import SparkWorkers
from infra.settings import Settings
from speed.process import lifecycle

_EPOCHS = 6
_SKIPPED = 0.3  # of a log: the first two epochs, in which Java compiles
_PATIENCE = 1_800.0
_EXECUTOR = {"spark.executor.memory": "1g", "spark.executor.cores": "1"}


@dataclass(frozen=True)
class GrowthLogs:
    """An instance without a run, with the log of each case in Kafka."""

    settings: Settings
    catalog: Catalog


def fill(settings: Settings, catalog: Catalog, sent: Sequence[GrowthCase]) -> GrowthLogs:
    """Sends the records of these logs."""
    for case in sent:
        start = clock.now_ms() - case.records
        load.send(settings, catalog.topic(case.topic), growth_records(case, start))
        note(f"{case.records:,} records are in {case.topic}")
    return GrowthLogs(settings, catalog)


def growth(log: GrowthLogs, repeat: int) -> list[Figure]:
    """Replays every case ``repeat`` times, in rounds; a case that two dimensions share is replayed once a round."""
    measured: dict[GrowthCase, list[ReadingRate]] = {case: [] for _, _, case in cases()}
    for _ in range(repeat):
        for case, rates in measured.items():
            rates.append(_replayed(log, case))
            note(f"{case}: {rates[-1].rate:,.0f} records/s")
    how = (
        f"replay of one log of {RECORDS:,} records of 100 bytes (fewer if they are larger), 1,000 keys, 4 partitions, "
        f"one view of one-minute windows, two threads, except for what a row names; the last two thirds of {_EPOCHS} "
        "epochs; no other process uses the cores, except the broker"
    )
    figures: list[Figure] = []
    for dimension, value, case in cases():
        figures += _figures(dimension, value, measured[case], "" if figures else how)
    return figures


def name(dimension: str, value: int) -> str:
    """The name of a figure."""
    return f"growth: {LABELS[dimension]} {value:,}"


def _figures(dimension: str, value: int, rates: Sequence[ReadingRate], how: str) -> list[Figure]:
    of_case = name(dimension, value)
    return [
        Figure(of_case, "records replayed", "records/s", tuple(each.rate for each in rates), how=how),
        Figure(f"{of_case}, CPU", "CPU time a record", "µs", tuple(each.cpu * 1e6 for each in rates)),
    ]


def _replayed(log: GrowthLogs, case: GrowthCase) -> ReadingRate:
    settings = log.settings.model_copy(
        update={"replay_offsets_per_trigger": case.records // _EPOCHS + 1, "spark_master": f"local[{case.cores}]"}
    )
    if not case.workers:
        return _replay(settings, log.catalog, case)
    port, pages = free_ports(2)
    workers = SparkWorkers(settings, port, pages, case.workers, case.cores // case.workers)
    workers.start()
    try:
        on_workers = {"spark_master": workers.master, "spark_conf": {**settings.spark_conf, **_EXECUTOR}}
        return _replay(settings.model_copy(update=on_workers), log.catalog, case, workers.pids)
    finally:
        workers.stop()


def _replay(settings: Settings, catalog: Catalog, case: GrowthCase, pids: Sequence[int] = ()) -> ReadingRate:
    """A replay that is abandoned afterwards. ``pids`` are processes outside its own whose CPU time counts."""
    began = time.time()
    state = replays.start(settings, catalog, views=case.view_names)
    assert state.run
    assert state.pid
    with cpu_clock(state.pid, *pids) as cpu:
        load.wait_for_lag_zero(settings, state.run, _PATIENCE)
    lifecycle.stop(settings, state.run)
    rate = _rate(settings, state.run, case, cpu, began)
    replays.abandon(settings, state.run)
    return rate


def _rate(
    settings: Settings, run: Name, case: GrowthCase, cpu: Sequence[tuple[float, float]], began: float
) -> ReadingRate:
    progress = [(epoch.committed_at.timestamp(), epoch.end.size) for epoch in read_epochs(settings, run)]
    return reading_rate(with_cpu(progress, cpu), case.records, progress[-1][0] - began, skipped=_SKIPPED)
