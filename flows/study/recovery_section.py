"""Crashes: how long until an alert, and until everything is read again."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import REPORT_BUG, LkError, Refused, TryAgain
from core.evidence.measurement import Measurement
from core.identifiers import Name
from flows import overview, speed, stack
from flows.measure import live_system, load
from flows.measure.live_system import RATE, SEEDS
from flows.measure.measured_verb import measured_verb
from flows.study.deploy import serving_run
from flows.study.subject import Subject
from infra import faults
from infra.faults import MARKER, VARIABLE
from infra.local import trino_server
from infra.retry import retry_on
from infra.settings.local_brokers import SINGLE
from speed.process import background

_SPEED_POINTS = ("speed.1_after_compute", "speed.4_before_manifest", "speed.5_after_group")
_PATIENCE = 60.0
_BATCH_POINTS = ("batch.1_after_land", "batch.2_before_built", "serving.1_between_views")


def recovery_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``recovery`` and ``alert``. What crashes is killed by SIGKILL."""
    (subject.settings.data / MARKER).touch()
    run = serving_run(subject)
    rows = [_speed_at(subject, run, point) for point in _SPEED_POINTS]
    for process in (background.name(run), SINGLE, trino_server.NAME):
        rows += _process(subject, run, process)
    if subject.planned.mode == "lambda":
        rows += [_batch_at(subject, point) for point in _BATCH_POINTS]
    return rows


def _speed_at(subject: Subject, run: Name, point: str) -> Measurement:
    """Kills the speed process at a step of the commit protocol, then starts it again under load."""
    settings, catalog = subject.settings, subject.catalog()
    speed.stop(settings)
    with load.flowing(settings, catalog, next(SEEDS), RATE):
        with _armed(point):
            with contextlib.suppress(LkError):  # it may die before it has said that it runs
                speed.start(settings, catalog)
            load.wait_for(lambda: background.alive(settings, run) is None, f"a kill at {point}", every=0.1)
        _require_hit(subject, point)
        began = time.monotonic()
        speed.start(settings, catalog)
    load.wait_for_lag_zero(settings, run)
    return subject.row("recovery", time.monotonic() - began, part=point)


def _process(subject: Subject, run: Name, process: str) -> list[Measurement]:
    """Kills a process under load, asks for the status until it is unhealthy, then runs `lk up` and `lk speed start`."""
    settings, catalog = subject.settings, subject.catalog()
    part = "speed" if process == background.name(run) else process
    load.wait_for_lag_zero(settings, run)
    with load.flowing(settings, catalog, next(SEEDS), RATE):
        began = time.monotonic()
        if not live_system.kill(settings, process):
            raise Refused(f"{process} did not run", where=str(settings.run_dir), fix=REPORT_BUG)
        load.wait_for(lambda: bool(overview.status(settings).unhealthy), "an alert", every=0.1)
        alerted = time.monotonic()
        # A client of this process that had a connection to the broker before fails once.
        retry_on(TryAgain, lambda: stack.up(settings, catalog), _PATIENCE, every=1.0)
        retry_on(TryAgain, lambda: speed.start(settings, catalog), _PATIENCE, every=1.0)
    load.wait_for_lag_zero(settings, run)
    return [
        subject.row("alert", alerted - began, part=f"{part} killed"),
        subject.row("recovery", time.monotonic() - alerted, part=f"{part} killed"),
    ]


def _batch_at(subject: Subject, point: str) -> Measurement:
    """Kills `lk batch` at a step, then runs it again."""
    with load.flowing(subject.settings, subject.catalog(), next(SEEDS), RATE):
        with _armed(point), contextlib.suppress(Refused):
            measured_verb(subject.instance, "batch")
        _require_hit(subject, point)
        seconds = measured_verb(subject.instance, "batch").seconds
    return subject.row("recovery", seconds, part=point)


@contextmanager
def _armed(point: str) -> Iterator[None]:
    os.environ[VARIABLE] = f"{point}:kill"
    try:
        yield
    finally:
        del os.environ[VARIABLE]


def _require_hit(subject: Subject, point: str) -> None:
    proof = faults.proof(subject.settings, point)
    if not proof.is_file():
        raise Refused(f"nothing was killed at {point}", where=str(proof), fix=REPORT_BUG)
    proof.unlink()
