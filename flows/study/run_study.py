"""`lk study`: measures what is missing, one instance after another, and keeps every row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from core.errors import Refused, TryAgain
from core.evidence.measurement import Measurement
from core.evidence.origin import Origin
from flows.measure.console import note
from flows.measure.figures import machine, versions
from flows.study.correction_section import correction_section
from flows.study.correctness_section import correctness_section
from flows.study.deploy import deployed
from flows.study.freshness_section import freshness_section
from flows.study.join_section import join_section
from flows.study.machine import busy_share, is_busy, require_disk
from flows.study.operations_section import operations_section
from flows.study.overload_section import overload_section
from flows.study.queries_section import queries_section
from flows.study.recovery_section import recovery_section
from flows.study.settling_section import settling_section
from flows.study.study_plan import StudyInstance, StudyPlan, missing_sections, rows_file, seconds_left
from flows.study.subject import Subject
from infra import measurement_files, study_files
from infra.file_lock import locked_or_raise
from infra.progress_bar import console, drawn
from infra.settings import Settings

MEASURES: dict[str, Callable[[Subject], Sequence[Measurement]]] = {
    "resources": lambda subject: subject.deployed,
    "freshness": freshness_section,
    "settling": settling_section,
    "queries": queries_section,
    "join": join_section,
    "correction": correction_section,
    "overload": overload_section,
    "recovery": recovery_section,
    "operations": operations_section,
    "correctness": correctness_section,
}


@dataclass(frozen=True)
class StudyResult:
    """Where the rows are, how many sections they are of, and how many of those were measured by this call."""

    folder: Path
    sections: int
    measured: int
    seconds: float


@dataclass
class _Progress:
    """Counts finished sections, and says how long the others take."""

    progress: Progress
    taken: dict[str, list[float]]
    measured: int = 0

    def finished(self, planned: StudyInstance, section: str, seconds: float, missing: Sequence[str]) -> None:
        """Records a section, advances the bar and prints a line."""
        self.taken.setdefault(section, []).append(seconds)
        self.measured += 1
        left = seconds_left(self.taken, missing)
        remaining = f"about {left / 60:.0f} minutes left" if left else "the last one"
        self.progress.update(self.progress.task_ids[0], advance=1, description=remaining)
        note(f"{planned.text}: {section}, {seconds:.0f} s; {remaining}")


def study(
    base: Settings, plan: StudyPlan, folder: Path = study_files.FOLDER, *, label_busy: bool = False
) -> StudyResult:
    """Measures every section of the plan that ``folder`` has no rows of; a repeated call goes on where one ended.

    Raises Refused if other programs use the machine, unless ``label_busy``; or if the disk is too small. Raises
    TryAgain while another call measures in ``folder``.
    """
    with measuring_alone(folder):
        return _study(base, plan, folder, label_busy=label_busy)


def measuring_alone(folder: Path) -> AbstractContextManager[None]:
    """A block in which no other process measures in ``folder``. Raises TryAgain if one does.

    A second call would delete the instance of the first, and its rows would be those of a busy machine.
    """
    error = TryAgain(
        "another `lk study` measures in this folder",
        where=str(folder.absolute()),
        fix="wait until it ends, then call it again: it measures what is still missing",
    )
    return locked_or_raise(folder / "study.lock", 0, error)


def _study(base: Settings, plan: StudyPlan, folder: Path, *, label_busy: bool) -> StudyResult:
    began = time.monotonic()
    require_disk(folder, max(plan.sizes))
    _require_same_machine(folder, plan)
    todo = {planned: missing_sections(folder, plan, planned) for planned in plan.instances()}
    sections = sum(len(plan.sections_of(planned)) for planned in plan.instances())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(), transient=True, disable=not drawn()) as progress:
        missing = sum(map(len, todo.values()))
        progress.add_task("measuring", total=sections, completed=sections - missing)
        shown = _Progress(progress, {})
        for planned in [planned for planned, names in todo.items() if names]:
            _measure(base, folder, planned, todo, shown, label_busy=label_busy)
    return StudyResult(folder, sections, shown.measured, time.monotonic() - began)


def _measure(
    base: Settings,
    folder: Path,
    planned: StudyInstance,
    todo: dict[StudyInstance, list[str]],
    shown: _Progress,
    *,
    label_busy: bool,
) -> None:
    """Deploys one instance and measures its missing sections; each one's rows are kept as soon as they are there."""
    busy = is_busy(label=label_busy, share=busy_share())
    began = time.monotonic()
    with deployed(base, folder / "instance", planned, busy=busy) as subject:
        for section in list(todo[planned]):
            rows = MEASURES[section](subject)
            measurement_files.write(rows_file(folder, planned, section), rows)
            todo[planned].remove(section)
            left = [name for names in todo.values() for name in names]
            shown.finished(planned, section, time.monotonic() - began, left)
            began = time.monotonic()


def _require_same_machine(folder: Path, plan: StudyPlan) -> None:
    """Writes the origin of the rows. Raises Refused if the folder has rows of another machine or other versions."""
    origin = Origin(machine(), versions(), plan.command)
    earlier = study_files.read_origin(folder)
    if earlier not in (Origin(), replace(origin, command=earlier.command)):
        raise Refused(
            f"its rows were measured with {earlier.machine}, {earlier.versions}; this is {origin.machine}, "
            f"{origin.versions}: they cannot be compared",
            where=str(folder),
            fix="name another folder: --study FOLDER",
        )
    commands = dict.fromkeys([*filter(None, earlier.command.split("; ")), origin.command])
    study_files.write_origin(folder, replace(origin, command="; ".join(commands)))
