"""Figures of verbs that start cold: a small batch, a start of the speed layer, `lk status`, `lk views check`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.catalog import Catalog
from flows import speed
from flows.bench.gate_time import BuiltInstance
from flows.measure import load
from flows.measure.figures import Figure
from flows.measure.fresh_instance import FreshInstance
from flows.measure.live_system import SEEDS
from flows.measure.measured_verb import MeasuredVerb, measured_verb
from infra.control import runs
from infra.control.manifest import last_epoch_number
from infra.definitions import passed_checks
from infra.project_files import VIEWS
from infra.settings import Settings

RECORDS = 500
_FEW = 20  # trades: one epoch
_BATCH_CPU, _START, _STATUS, _CHECK, _CHECK_ONE = 22.0, 6.0, 1.0, 15.0, 5.0


def fill(settings: Settings, catalog: Catalog, config: Path) -> BuiltInstance:
    """Sends the first records and starts the speed layer."""
    load.send_count(settings, catalog, next(SEEDS), RECORDS)
    speed.start(settings, catalog)
    return BuiltInstance(settings, catalog, config)


def verbs(small: BuiltInstance, repeat: int) -> list[Figure]:
    """Each verb as a process of its own, with the start of Python and, where it needs one, of Spark."""
    batches = [_batch(small) for _ in range(repeat)]
    statuses = [measured_verb(_instance(small), "status") for _ in range(repeat)]
    starts = tuple(_start_seconds(small) for _ in range(repeat))
    checks = [_checks(small, turn) for turn in range(repeat)]
    how = f"{RECORDS} new trades each time, {len(small.catalog.views)} views; the verb's process and all its children"
    return [
        Figure("batch: CPU", f"`lk batch` of {RECORDS} records", "CPU s", _cpu(batches), most=_BATCH_CPU, how=how),
        Figure("batch", "the same", "s", _seconds(batches)),
        Figure("status", "`lk status`", "s", _seconds(statuses), most=_STATUS),
        Figure(
            "speed start",
            "`lk speed start` until its first epoch is committed",
            "s",
            starts,
            most=_START,
            how="a resume",
        ),
        Figure(
            "views check",
            "`lk views check` of all views of the project",
            "s",
            _seconds([first for first, _ in checks]),
            most=_CHECK,
            how="with views/programs",
        ),
        Figure(
            "views check one",
            "the same after a change of one view",
            "s",
            _seconds([second for _, second in checks]),
            most=_CHECK_ONE,
        ),
    ]


def _instance(small: BuiltInstance) -> FreshInstance:
    return FreshInstance(small.config.parent, small.config, small.settings)


def _batch(small: BuiltInstance) -> MeasuredVerb:
    load.send_count(small.settings, small.catalog, next(SEEDS), RECORDS)
    load.wait_for_lag_zero(small.settings, runs.read_runs(small.settings)[-1].id)
    return measured_verb(_instance(small), "batch")


def _start_seconds(small: BuiltInstance) -> float:
    """Seconds from the call until an epoch of the resumed run holds records that were sent before."""
    settings, run = small.settings, runs.read_runs(small.settings)[-1].id
    speed.stop(settings)
    number = last_epoch_number(settings, run)
    load.send_count(settings, small.catalog, next(SEEDS), _FEW)
    began = time.monotonic()
    speed.start(settings, small.catalog)
    load.wait_for(lambda: last_epoch_number(settings, run) > number, "the first epoch", every=0.05)
    return time.monotonic() - began


def _checks(small: BuiltInstance, turn: int) -> tuple[MeasuredVerb, MeasuredVerb]:
    """`lk views check` of all definitions with copies of views/programs, and again after one view has changed."""
    folder = small.config.parent / f"checked-{turn}"
    shutil.copytree(VIEWS / "programs", folder, ignore=shutil.ignore_patterns("__*"))
    lines = small.config.read_text("utf-8").splitlines()
    config = folder.with_suffix(".toml")
    kept = [line for line in lines if not line.startswith("views =")]
    config.write_text("\n".join([*kept, f'views = ["{folder}"]', ""]), "utf-8")
    checked = replace(_instance(small), config=config)
    passed_checks.write_passed(small.settings, [])
    first = measured_verb(checked, "views", "check")
    changed = folder / "word_count.py"
    changed.write_text(changed.read_text("utf-8").replace('comment="', f'comment="{turn}: ', 1), "utf-8")
    return first, measured_verb(checked, "views", "check")


def _seconds(verbs: Sequence[MeasuredVerb]) -> tuple[float, ...]:
    return tuple(verb.seconds for verb in verbs)


def _cpu(verbs: Sequence[MeasuredVerb]) -> tuple[float, ...]:
    return tuple(verb.usage.cpu for verb in verbs)
