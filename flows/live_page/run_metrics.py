"""The metrics of the runs: roles, epochs, records and lag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from core.positions import LogPartition
from flows.live_page.snapshot import LiveRun, Snapshot


def run_metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """What the runs that have not ended did, and what waits for them."""
    runs = snapshot.runs.value or ()
    info = GaugeMetricFamily(
        "lk_run_info", "1 for the role of a run that has not ended", labels=["run", "kind", "role"]
    )
    up = GaugeMetricFamily("lk_run_up", "1 if a process drives the run", labels=["run", "role"])
    epochs = CounterMetricFamily("lk_run_epochs", "Epochs that a run has committed", labels=["run"])
    stalled = GaugeMetricFamily(
        "lk_run_stalled_seconds",
        "Time since the last epoch of a run, or since its declaration, while records wait, else 0",
        labels=["run"],
    )
    for live in runs:
        id = live.run.id
        info.add_metric([id, live.run.kind, live.role], 1)
        up.add_metric([id, live.role], 1 if live.state.alive else 0)
        if live.is_read:  # a counter that falls to 0 would show all epochs at once after the repair
            epochs.add_metric([id], live.state.epoch + 1)
        if (seconds := _stalled(live, snapshot.runs.at)) is not None:
            stalled.add_metric([id], seconds)
    yield from (info, up, epochs, stalled, *_run_records(runs))


def _stalled(live: LiveRun, read_at: datetime | None) -> float | None:
    """Seconds since a run committed something, or since it was declared; None if it is not known what waits for it.

    A run that starts may read an archive for long, before it commits the first epoch. One that a new run has replaced
    was stopped, and nothing waits for it.
    """
    is_starting = live.state.age is None and live.state.alive and live.state.phase == "starting"
    is_replaced = not live.state.alive and live.role in ("warm", "idle")
    if live.state.behind is None or read_at is None or is_starting or is_replaced:
        return None
    age = (read_at - live.run.created_at).total_seconds() if live.state.age is None else live.state.age
    return max(0.0, age) if live.state.behind else 0.0


def _run_records(runs: Iterable[LiveRun]) -> Iterator[Metric]:
    labels = ["run", "topic", "partition"]
    decoded = CounterMetricFamily("lk_run_decoded_records", "Records that a run has decoded", labels=labels)
    bad = CounterMetricFamily("lk_run_quarantined_records", "Records that a run has quarantined", labels=labels)
    lag = GaugeMetricFamily("lk_run_lag_records", "Records that a run has not committed yet", labels=labels)
    for live in runs:
        counted, behind = live.last.total.partitions if live.last else {}, live.state.lag
        for partition, counts in counted.items():
            decoded.add_metric([live.run.id, *_labels(partition)], counts.decoded)
            bad.add_metric([live.run.id, *_labels(partition)], counts.quarantined)
        if behind is not None:  # it leaves out the partitions without lag, and has those that no epoch has read yet
            for partition in dict.fromkeys((*counted, *behind)):
                lag.add_metric([live.run.id, *_labels(partition)], behind.get(partition, 0))
    yield from (decoded, bad, lag)


def _labels(text: str) -> tuple[str, str]:
    topic, partition = LogPartition.parse(text)
    return topic, str(partition)
