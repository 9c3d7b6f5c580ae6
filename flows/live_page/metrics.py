"""The numbers of a snapshot as Prometheus metrics, in its text format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from core.identifiers import Name
from core.safe_text import one_line
from flows.live_page.run_metrics import run_metrics
from flows.live_page.snapshot import Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(snapshot: Snapshot, waiting: Mapping[Name, float | None]) -> bytes:
    """All metrics. A part that was never read has none; one that is away has those of its last good value.

    ``waiting``: for how many seconds records of each view have waited.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(snapshot, waiting))
    return generate_latest(registry)


class _Snapshot(Collector):
    def __init__(self, snapshot: Snapshot, waiting: Mapping[Name, float | None]) -> None:
        self._snapshot, self._waiting = snapshot, waiting

    def collect(self) -> Iterator[Metric]:
        for metric in self._metrics():
            metric.samples = [_with_safe_labels(sample) for sample in metric.samples]
            yield metric

    def _metrics(self) -> Iterator[Metric]:
        yield from _health(self._snapshot)
        yield from _processes(self._snapshot)
        yield from _log(self._snapshot)
        yield from _views(self._snapshot, self._waiting)
        yield from _ledger(self._snapshot)
        yield from run_metrics(self._snapshot)
        yield from _lake(self._snapshot)
        yield from _disks(self._snapshot)
        yield from _gate(self._snapshot)
        yield from _sizes(self._snapshot)


def _with_safe_labels(sample: Sample) -> Sample:
    """A folder's name may have bytes that are no UTF-8, which a label cannot."""
    return sample._replace(labels={name: one_line(value) for name, value in sample.labels.items()})


def _health(snapshot: Snapshot) -> Iterator[Metric]:
    yield GaugeMetricFamily("lk_unhealthy_lines", "Lines that lk status prints as unhealthy", len(snapshot.unhealthy))
    up = GaugeMetricFamily("lk_part_up", "1 if the last read of a part of the state succeeded", labels=["part"])
    read = GaugeMetricFamily(
        "lk_part_last_success_timestamp_seconds", "When a part of the state was last read", labels=["part"]
    )
    for name, reading in snapshot.readings.items():
        if not reading.is_awaited:  # the first list of a large object store takes longer than LkMonitorBlind waits
            up.add_metric([name], 0 if reading.problem else 1)
        if reading.at is not None:
            read.add_metric([name], reading.at.timestamp())
    yield up
    yield read
    yield GaugeMetricFamily("lk_kafka_up", "1 if Kafka answers", 0 if snapshot.log.problem else 1)
    yield GaugeMetricFamily("lk_trino_up", "1 if Trino answers", 0 if snapshot.trino.problem else 1)
    if snapshot.trino.value:
        help_text = "What a query of the catalog took"
        yield GaugeMetricFamily("lk_trino_query_seconds", help_text, snapshot.trino.value.seconds)


def _processes(snapshot: Snapshot) -> Iterator[Metric]:
    up = GaugeMetricFamily("lk_process_up", "1 if a process that should run does and answers", labels=["process"])
    memory = GaugeMetricFamily("lk_process_memory_bytes", "Memory of a process and its children", labels=["process"])
    for process in snapshot.process_states:
        up.add_metric([process.name], 1 if process.status == "up" else 0)
        memory.add_metric([process.name], process.memory)
    yield up
    yield memory


def _log(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["topic", "partition"]
    appended = CounterMetricFamily("lk_topic_appended_records", "Log end offset of a partition", labels=labels)
    start = GaugeMetricFamily("lk_topic_start_offset", "First offset that Kafka still holds", labels=labels)
    for part in snapshot.log.value or ():
        labels = [part.topic, str(part.partition)]
        appended.add_metric(labels, part.end)
        start.add_metric(labels, part.start)
    yield appended
    yield start


def _views(snapshot: Snapshot, seconds: Mapping[Name, float | None]) -> Iterator[Metric]:
    status = snapshot.status.value
    lag = GaugeMetricFamily("lk_view_lag_records", "Records in the log that a view does not show", labels=["view"])
    age = GaugeMetricFamily("lk_view_age_seconds", "Time since the newest record that a view shows", labels=["view"])
    waiting = GaugeMetricFamily(
        "lk_view_waiting_seconds",
        "How long the oldest record that a view does not show has waited",
        labels=["view", "mode"],
    )
    mode = GaugeMetricFamily("lk_view_mode", "1 for the mode that serves a view", labels=["view", "mode"])
    built = GaugeMetricFamily("lk_view_build_age_seconds", "Time since a view's build was begun", labels=["view"])
    began = snapshot.lake.value.build_began if snapshot.lake.value else {}
    for view in status.views if status else ():
        if view.lag is not None:
            lag.add_metric([view.view], view.lag)
        if view.age is not None:
            age.add_metric([view.view], view.age)
        mode.add_metric([view.view, view.mode], 1)
        if (of_view := seconds.get(view.view)) is not None:
            waiting.add_metric([view.view, view.mode], of_view)
        if view.build and view.build in began:
            built.add_metric([view.view], (snapshot.at - began[view.build]).total_seconds())
    yield from (lag, age, waiting, mode, built)
    served = GaugeMetricFamily("lk_view_served", "1 if Trino serves a view as it was published", labels=["view"])
    published = snapshot.served.value
    for name in published.views if published else ():
        served.add_metric([name], 0 if published and name in published.missing else 1)
    yield served


def _ledger(snapshot: Snapshot) -> Iterator[Metric]:
    status, labels = snapshot.status.value, ["topic", "partition"]
    records = GaugeMetricFamily(
        "lk_ledger_difference_records", "Served offsets that are neither decoded nor quarantined once", labels=labels
    )
    rows = GaugeMetricFamily("lk_ledger_difference_rows", "Rows that a view serves but none counted", labels=["view"])
    decoded = GaugeMetricFamily("lk_served_decoded_records", "Decoded records that are served", labels=labels)
    bad = GaugeMetricFamily("lk_served_quarantined_records", "Quarantined records below what is served", labels=labels)
    exceeded = GaugeMetricFamily("lk_quarantine_exceeded", "1 if more are quarantined than allowed", labels=["topic"])
    for counts in status.partitions if status else ():
        labels = [counts.topic, str(counts.partition)]
        difference = 0 if counts.ok else counts.offsets - counts.decoded - counts.quarantined
        records.add_metric(labels, difference)
        decoded.add_metric(labels, counts.decoded)
        bad.add_metric(labels, counts.quarantined)
    for view in status.rows if status else ():
        rows.add_metric([view.view], view.served - view.counted)
    shares = {share.topic for share in status.shares} if status else set()
    for topic in sorted({counts.topic for counts in status.partitions} if status else ()):
        exceeded.add_metric([topic], 1 if topic in shares else 0)
    yield from (records, rows, decoded, bad, exceeded)


def _lake(snapshot: Snapshot) -> Iterator[Metric]:
    lake = snapshot.lake.value
    if lake is None:
        return
    number = max((change.seq for change in lake.changes), default=0)
    yield CounterMetricFamily("lk_publications", "Number of the last publication", number)
    completed_at = [change.at.timestamp() for change in lake.changes if change.state == "done"]
    if completed_at:
        last = "When the last publication was completed"
        yield GaugeMetricFamily("lk_last_publication_timestamp_seconds", last, max(completed_at))
    age = GaugeMetricFamily("lk_lease_age_seconds", "How long the holder of a lease has had it", labels=["lease"])
    left = GaugeMetricFamily("lk_lease_abandoned", "1 if the holder has ended without releasing it", labels=["lease"])
    for lease in lake.leases:
        left.add_metric([lease.name], 1 if lease.state == "abandoned" else 0)
        if lease.state != "free":
            age.add_metric([lease.name], (snapshot.at - lease.since).total_seconds())
    yield from (age, left)


def _disks(snapshot: Snapshot) -> Iterator[Metric]:
    free = GaugeMetricFamily("lk_disk_free_bytes", "Free space of the disk of a folder", labels=["folder"])
    size = GaugeMetricFamily("lk_disk_size_bytes", "Size of the disk of a folder", labels=["folder"])
    ratio = GaugeMetricFamily("lk_disk_free_ratio", "Free share of the disk of a folder", labels=["folder"])
    for folder, (available, total) in (snapshot.disks.value or {}).items():
        if total > 0:  # some file systems of FUSE have no size
            free.add_metric([folder], available)
            size.add_metric([folder], total)
            ratio.add_metric([folder], available / total)
    yield from (free, size, ratio)


def _gate(snapshot: Snapshot) -> Iterator[Metric]:
    gate = snapshot.gate.value
    if gate is None or gate.build is None:
        return
    failed = GaugeMetricFamily("lk_gate_failed_checks", "Failed checks of the last checked build", labels=["severity"])
    for severity in ("critical", "warning"):
        results = [result for result in gate.results if not result.success and result.severity == severity]
        failed.add_metric([severity], len(results))
    yield failed


def _sizes(snapshot: Snapshot) -> Iterator[Metric]:
    used = GaugeMetricFamily("lk_disk_used_bytes", "Size of all files of a part of the instance", labels=["part"])
    for part, size in (snapshot.sizes.value or {}).items():
        used.add_metric([part], size)
    yield used
