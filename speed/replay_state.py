"""A replay: the log from offset 0 as a new run, with its own consumer group, checkpoint and tables.

0. Declare the run and start its process. Fault point: ``replay.0_before_start``.
1. Compute what the log has lost from the archive, as one epoch. Fault points: ``replay.1_before_prefix``,
   ``replay.1_before_prefix_manifest``. Then commit epochs as any run (speed/epoch/commit.py).
2. Compare the replay with a full build. Fault points: ``replay.2_before_compare``, ``replay.2_in_compare``.
3. Switch: serve the replay (serving/replace_views.py). Fault point: ``replay.3_before_switch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.catalog import Catalog
from core.cut import Cut, Span
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import changed_definitions, definition_refusal
from infra.control import epoch_times, run_roles, runs
from infra.control.manifest import Epoch, last_epochs, read_epochs
from infra.control.runs import Run
from infra.kafka import kafka_admin, log_checks
from infra.lake import archive
from infra.settings import Settings
from speed.process import epoch_pacing, lifecycle
from speed.process.lifecycle import RunState

CAUGHT_UP_EPOCHS = 3  # epochs in a row that must be small before a replay counts as caught up
_RATE_EPOCHS = 11  # ten, and the one before: their commits span the time in which the ten were read
_FIRST_EPOCHS = 50  # enough for its rate: a long replay has thousands


@dataclass(frozen=True)
class PartitionLog:
    """One partition before a replay: the offsets that Kafka holds, and up to where the archive holds them."""

    topic: Name
    partition: int
    begin: int
    end: int
    archived: int

    @property
    def complete(self) -> bool:
        """Whether the log still begins at 0."""
        return self.begin == 0

    @property
    def replaceable(self) -> bool:
        """Whether the archive holds every record that the log lacks."""
        return self.archived >= self.begin


@dataclass(frozen=True)
class ReplayProgress:
    """How far a replay is. ``rate`` is records a second over its last epochs, ``left`` seconds until it catches up."""

    state: RunState
    limit: int | None
    read: int
    total: int
    rate: float | None
    left: float | None
    caught_up: bool
    prefix: Cut


def partition_logs(settings: Settings, catalog: Catalog) -> tuple[PartitionLog, ...]:
    """Every partition that the catalog's views read."""
    topics = catalog.sources(catalog.views)
    counts, begins, ends = (
        kafka_admin.partitions(settings, topics),
        kafka_admin.start_offsets(settings, topics),
        kafka_admin.end_offsets(settings, topics),
    )
    archived = {topic: archive.decoder_archive(settings, topic, catalog.decoder(topic)).ends for topic in topics}
    return tuple(
        PartitionLog(topic, p, begins.end(topic, p), ends.end(topic, p), archived[topic].end(topic, p))
        for topic in topics
        for p in range(counts[topic])
    )


def prefix_from_archive(logs: Sequence[PartitionLog], *, from_archive: bool) -> Cut:
    """The offsets up to which the archive replaces the log: none for a complete log, else the archive's ends.

    Raises Refused naming topic, partition and range where a partition no longer begins at 0.
    """
    truncated = [log for log in logs if not log.complete]
    if not truncated:
        return Cut()
    lost = [log for log in truncated if not log.replaceable] if from_archive else truncated
    if lost:
        spans = [Span(log.topic, log.partition, 0, log.begin) for log in lost]
        archived = all(log.replaceable for log in truncated)
        fix = (
            "`--prefix-from-archive` replays them from the archive, which holds them" if archived else "restore the log"
        )
        raise log_checks.records_removed(spans, where="Kafka, from which a replay reads offset 0 on", fix=fix)
    return Cut(tuple(sorted((log.topic, log.partition, log.archived) for log in logs if log.archived)))


def open_replay(settings: Settings, catalog: Catalog) -> Run | None:
    """The replay in progress: it has neither served nor ended.

    Raises Refused when it computes other views than these, or a definition changed.
    """
    replay = run_roles.replay_in_progress(settings)
    if replay is None:
        return None
    run = runs.read_run(settings, replay)
    if run.views.keys() != catalog.views.keys():
        raise Refused(
            f"replay {run.id} computes other views: {', '.join(sorted(run.views))}",
            where=f"run {run.id}",
            fix=f"finish it: `lk switch kappa --run {run.id}`; or give it up: `lk replay abandon --run {run.id}`",
        )
    changed = changed_definitions(catalog, run.views, run.decoders)
    if changed:
        first = f"give the replay up (`lk replay abandon --run {run.id}`) and "
        raise definition_refusal(changed, "the replay was declared", where=f"run {run.id}", first=first)
    return run


def declare(settings: Settings, catalog: Catalog, *, id: Name | None = None, from_archive: bool = False) -> Run:
    """Declares a run from offset 0; it is not started.

    Raises Refused when the log lacks a prefix, or has other records than those that were read.
    """
    prefix = prefix_from_archive(partition_logs(settings, catalog), from_archive=from_archive)
    return lifecycle.declare(settings, catalog, id=id, kind="replay", prefix=prefix, note="lk replay")


def progress(settings: Settings, run: Run) -> ReplayProgress:
    """How far a replay is, by its manifest."""
    return progress_of(settings, run, lifecycle.status(settings, run.id))


def progress_of(settings: Settings, run: Run, state: RunState) -> ReplayProgress:
    """The same, for a replay whose state was read just now."""
    epochs = last_epochs(settings, run.id, _RATE_EPOCHS)
    end = epochs[-1].end if epochs else run.start
    behind = state.behind
    read = end.size
    rate = _rate(epochs)
    return ReplayProgress(
        state=state,
        limit=epoch_pacing.read_rate_limit(settings, run.id),
        read=read,
        total=read + (behind or 0),
        rate=rate,
        left=behind / rate if rate and behind is not None else None,
        caught_up=behind is not None and _caught_up(settings, epochs, behind),
        prefix=run.prefix,
    )


def last_measured_rate(settings: Settings) -> tuple[Name, float] | None:
    """The last replay that read history, and the records a second that it read of it."""
    for run in reversed(runs.read_runs(settings)):
        rate = _history_rate(settings, run.id) if run.kind == "replay" else None
        if rate:
            return run.id, rate
    return None


def _history_rate(settings: Settings, run: Name) -> float | None:
    """The rate of the epochs that read what had piled up in the log: a replay soon only follows the producers."""
    big = epoch_times.backlog(read_epochs(settings, run, first=0, last=_FIRST_EPOCHS))
    return epoch_times.rate(big) if big and epoch_times.seconds(big) > 0 else None


def _rate(epochs: Sequence[Epoch]) -> float | None:
    """Over the last ten epochs that follow another: from the commit before the first to the last commit."""
    last = epochs[-_RATE_EPOCHS:]
    if len(last) < 2:
        return None
    seconds = (last[-1].committed_at - last[0].committed_at).total_seconds()
    return last[-1].end.size_since(last[0].end) / seconds if seconds > 0 else None


def _caught_up(settings: Settings, epochs: Sequence[Epoch], behind: int) -> bool:
    """No record is left, or fewer than one trigger reads now and in each of the last epochs."""
    small = settings.max_offsets_per_trigger
    sizes = [epoch.end.size_since(epoch.start) for epoch in epochs[-CAUGHT_UP_EPOCHS:]]
    return behind == 0 or (behind < small and len(sizes) == CAUGHT_UP_EPOCHS and max(sizes) < small)
