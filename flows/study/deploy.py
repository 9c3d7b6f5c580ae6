"""Deploys one mode on a fresh instance with a history, and measures what that takes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.evidence.measurement import STEADY, Measurement
from core.identifiers import Name
from flows import replays, speed, stack
from flows.measure import fresh_instance, load
from flows.measure.measured_verb import MeasuredVerb, measured_verb
from flows.study.disk_use import disk_rows
from flows.study.history import OWN, PROGRAMS, send_history
from flows.study.study_plan import StudyInstance
from flows.study.subject import Subject
from infra.control import epoch_times, run_roles, runs
from infra.control.epoch_times import with_records
from infra.control.manifest import read_epochs
from infra.definitions import definition_files
from infra.local import local_stack, resource_usage
from infra.project_files import VIEWS
from infra.settings import Settings
from speed.process import background

_PATIENCE = 4 * 3_600.0
_SPEED_START = 900.0


@contextmanager
def deployed(base: Settings, folder: Path, planned: StudyInstance, *, busy: bool) -> Iterator[Subject]:
    """An instance that serves a history in the planned mode; removed after the block, only stopped if it fails."""
    views = folder.absolute() / "views"
    created = fresh_instance.create(base.model_copy(update={"views": (views,)}), folder)
    _copy_definitions(views)
    try:
        stack.up(created.settings, definition_files.load(created.settings))
        history = send_history(created.settings, definition_files.load(created.settings), planned.size)
        subject = Subject(planned, created, history, busy)
        yield subject.with_deployed(_lambda(subject) if planned.mode == "lambda" else _kappa(subject))
    finally:
        local_stack.stop_servers(created.settings)
    fresh_instance.remove(folder)


def serving_run(subject: Subject) -> Name:
    """The run that serves."""
    run = run_roles.current_run(subject.settings)
    assert run is not None, "deployment starts a run"
    return run


def _copy_definitions(views: Path) -> None:
    views.mkdir(parents=True)
    for folder, names in (("programs", PROGRAMS), ("study", OWN)):
        for name in names:
            shutil.copy(VIEWS / folder / f"{name}.py", views)


def _lambda(subject: Subject) -> list[Measurement]:
    """`lk speed start` and the five steps of `lk batch`, one by one."""
    run = _live_run(subject)
    claimed = measured_verb(subject.instance, "claim")
    landed = measured_verb(subject.instance, "land")
    built = measured_verb(subject.instance, "build")
    gated = measured_verb(subject.instance, "gate")
    published = measured_verb(subject.instance, "publish")
    return [
        *_live_rows(subject, run),
        *_verb_rows(subject, "land", landed, sum(topic["seconds"] for topic in landed.output)),
        *_verb_rows(subject, "build", built, sum(view["seconds"] for view in built.output)),
        *_verb_rows(subject, "gate", gated, gated.seconds),
        *_view_rates(subject, built),
        subject.row("deployment", sum(verb.seconds for verb in (claimed, landed, built, gated, published))),
        *disk_rows(subject, STEADY),
    ]


def _kappa(subject: Subject) -> list[Measurement]:
    """`lk speed start`, then `lk switch kappa`: a replay into a new group, proven equal, served; the first run ends."""
    first = _live_run(subject)
    began = time.monotonic()
    state = replays.start(subject.settings, subject.catalog())
    assert state.run is not None
    replays.wait(subject.settings, state.run, patience=_PATIENCE)
    process = background.alive(subject.settings, state.run)
    assert process is not None, "a replay goes on after it has caught up"
    usage, epochs = resource_usage.usage_of(process.pid), with_records(read_epochs(subject.settings, state.run))
    proven = measured_verb(subject.instance, "switch", "kappa")
    seconds = time.monotonic() - began
    background.stop(subject.settings, first)
    measured_verb(subject.instance, "retire", first, "--final")
    replayed = MeasuredVerb(None, epoch_times.seconds(epochs), usage)
    return [
        *_verb_rows(subject, "replay", replayed, replayed.seconds),
        *_verb_rows(subject, "proof", proven, proven.seconds),
        subject.row("deployment", seconds),
        *disk_rows(subject, STEADY),
    ]


def _live_run(subject: Subject) -> Name:
    """Starts the live run and waits until it has read the history."""
    speed.start(subject.settings, subject.catalog())
    run = runs.read_runs(subject.settings)[-1].id
    load.wait_for_lag_zero(subject.settings, run, max(_SPEED_START, subject.planned.size / 10_000))
    return run


def _live_rows(subject: Subject, run: Name) -> list[Measurement]:
    """What a live run used to read the history: its CPU at full rate."""
    process = background.alive(subject.settings, run)
    assert process is not None, "the run has just read the history"
    usage = resource_usage.usage_of(process.pid)
    seconds = epoch_times.seconds(with_records(read_epochs(subject.settings, run)))
    return _verb_rows(subject, "live", MeasuredVerb(None, seconds, usage), seconds)


def _verb_rows(subject: Subject, part: str, verb: MeasuredVerb, seconds: float) -> list[Measurement]:
    """CPU, bytes and rate of a part that read the whole history in ``seconds``."""
    millions = subject.history.size / 10**6
    written = [subject.row("written", verb.usage.written / 10**6 / millions, part=part)] if verb.usage.written else []
    return [
        subject.row("cpu", verb.usage.cpu / millions, part=part),
        subject.row("rate", subject.history.size / seconds, part=part),
        *written,
    ]


def _view_rates(subject: Subject, built: MeasuredVerb) -> list[Measurement]:
    """Events a second of the full build of each view that the history has events of."""
    catalog, counts = subject.catalog(), subject.history.counts
    rates = {}
    for view in built.output:
        events = sum(counts.get(Name(topic), 0) for topic in catalog.view(Name(view["view"])).sources)
        rates[view["view"]] = events / view["seconds"]
    return [subject.row("rate", rate, part="build", view=view) for view, rate in rates.items() if rate]
