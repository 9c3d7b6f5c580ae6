"""Which epoch of each run took the record, found in the manifests by binary searches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from core.identifiers import Name
from core.positions import LogPartition
from flows.trace.cells import guarded
from flows.trace.stage_texts import MADE_AGAIN_AFTER_RUN
from flows.trace.stages import RunEpoch
from infra.control import epoch_search, manifest, run_roles, runs
from infra.control.manifest import Epoch
from infra.control.runs import Run
from infra.settings import Settings


@dataclass(frozen=True)
class RunStage:
    """What one run did with the record, with its declaration and the epoch that took it."""

    stage: RunEpoch
    run: Run
    epoch: Epoch | None = None


def read_runs(settings: Settings, topic: Name, topic_id: str | None, partition: int, offset: int) -> list[RunStage]:
    """Every run that reads the topic and has not ended, oldest first. ``topic_id`` is that of the topic now."""
    roles = run_roles.roles(settings)
    readers = [run for run in runs.read_runs(settings) if topic in run.topics]
    declared = [run for run in readers if roles.get(run.id) not in run_roles.ENDED]
    stages = []
    for run in declared:
        unread = RunEpoch(run.id, str(roles.get(run.id, "idle")), "unknown")
        read = partial(_read, settings, run, unread, topic, topic_id, partition, offset)
        stages.append(guarded(read, partial(_refused, run, unread)))
    return stages


def _read(
    settings: Settings, run: Run, unread: RunEpoch, topic: Name, topic_id: str | None, partition: int, offset: int
) -> RunStage:
    start = run.start.end(topic, partition)
    if topic_id is not None and run.topics[topic] != topic_id:
        return RunStage(replace(unread, reading="other topic", note=MADE_AGAIN_AFTER_RUN), run)
    if offset < start:
        return RunStage(replace(unread, reading="before its start", note=f"it begins at offset {start}"), run)
    located = epoch_search.epoch_of_offset(settings, run, LogPartition(topic, partition), offset)
    last = manifest.last_epoch(settings, run.id)
    run_epoch = replace(unread, last_epoch=last.number if last else None)
    if located.epoch:
        return RunStage(_taken(run_epoch, located.epoch, topic, partition), run, located.epoch)
    if located.missing is not None:
        problem = f"the manifest has no row of epoch {located.missing}: what that epoch took is not committed"
        return RunStage(replace(run_epoch, reading="missing", epoch=located.missing, problem=problem), run)
    read_to = manifest.read_up_to(run, last).end(topic, partition)
    lag = offset + 1 - read_to
    note = f"it has read up to offset {read_to}: {lag} more with this record"
    return RunStage(replace(run_epoch, reading="waiting", end=read_to, lag=lag, note=note), run)


def _taken(run_epoch: RunEpoch, epoch: Epoch, topic: Name, partition: int) -> RunEpoch:
    return replace(
        run_epoch,
        reading="taken",
        epoch=epoch.number,
        start=epoch.start.end(topic, partition),
        end=epoch.end.end(topic, partition),
        committed_at=epoch.committed_at,
        note="computed from the archive" if epoch.number == manifest.ARCHIVE_EPOCH else "",
    )


def _refused(run: Run, unread: RunEpoch, reason: str) -> RunStage:
    return RunStage(replace(unread, problem=reason), run)
