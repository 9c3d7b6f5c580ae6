"""What a study measures: sizes, repetitions, modes in alternating order, and the sections of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import Usage
from core.evidence.measurement import MODES
from core.evidence.question import study_command
from infra import study_files

# In this order on each instance; the first is measured while the mode is deployed.
SECTIONS = (
    "resources",
    "freshness",
    "settling",
    "queries",
    "join",
    "correction",
    "overload",
    "recovery",
    "operations",
    "correctness",
)
# What does not depend on the length of the history is measured with the shortest one only.
_ONLY_SMALLEST = frozenset({"settling", "overload", "recovery"})
SMALLEST = 10_000  # records of a log in which each topic and day has some


@dataclass(frozen=True)
class StudyInstance:
    """One instance: a log of ``size`` records, served in one mode, in one repetition (from 1)."""

    size: int
    repetition: int
    mode: str

    @property
    def text(self) -> str:
        """The instance in words."""
        return f"{self.size:,} records, repetition {self.repetition}, {self.mode}"


@dataclass(frozen=True)
class StudyPlan:
    """The sizes (records in the log), the repetitions and the sections of a study."""

    sizes: tuple[int, ...] = (1_000_000, 10_000_000)
    repeat: int = 5
    sections: tuple[str, ...] = SECTIONS

    def __post_init__(self) -> None:
        unknown = sorted(set(self.sections) - set(SECTIONS))
        if unknown or not self.sections:
            raise Usage(f"there is no section {', '.join(unknown)}", fix=f"choose from {', '.join(SECTIONS)}")
        if self.repeat < 1 or not self.sizes or min(self.sizes) < SMALLEST:
            raise Usage(f"a study needs a repetition, and sizes of {SMALLEST:,} records or more", fix="see --help")

    @property
    def command(self) -> str:
        """The command that measures what is missing of this plan."""
        return study_command(self.sizes, self.repeat, () if self.sections == SECTIONS else self.sections)

    def instances(self) -> Iterator[StudyInstance]:
        """Every instance; the mode that is measured first alternates."""
        for repetition in range(1, self.repeat + 1):
            for size in sorted(set(self.sizes)):
                for mode in MODES if repetition % 2 else MODES[::-1]:
                    yield StudyInstance(size, repetition, mode)

    def sections_of(self, planned: StudyInstance) -> Sequence[str]:
        """The sections that are measured on an instance, in order."""
        is_smallest = planned.size == min(self.sizes)
        return [name for name in SECTIONS if name in self.sections and (is_smallest or name not in _ONLY_SMALLEST)]


def rows_file(folder: Path, planned: StudyInstance, section: str) -> Path:
    """The file with the rows of one section of an instance; it exists once the section was measured."""
    return folder / study_files.ROWS / f"{planned.size}-{planned.repetition}-{planned.mode}-{section}.parquet"


def missing_sections(folder: Path, plan: StudyPlan, planned: StudyInstance) -> list[str]:
    """The sections of an instance that were not measured yet."""
    return [section for section in plan.sections_of(planned) if not rows_file(folder, planned, section).is_file()]


def seconds_left(taken: dict[str, list[float]], missing: Sequence[str]) -> float | None:
    """Seconds that the missing sections take, each as long as its mean so far; None before the first section."""
    if not taken:
        return None
    means = {section: sum(seconds) / len(seconds) for section, seconds in taken.items()}
    usual = sum(means.values()) / len(means)
    return sum(means.get(section, usual) for section in missing)
