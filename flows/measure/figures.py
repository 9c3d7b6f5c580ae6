"""Benchmark figures: what was measured, every repetition, and the target."""

from __future__ import annotations

import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from core.evidence.quantity import trimmed


@dataclass(frozen=True)
class Figure:
    """One figure with every repetition. ``most`` or ``least`` bounds its median, if there is a target."""

    name: str
    what: str
    unit: str
    values: tuple[float, ...]
    most: float | None = None
    least: float | None = None
    how: str = ""

    @property
    def median(self) -> float:
        """The median of the repetitions."""
        return statistics.median(self.values)

    @property
    def ok(self) -> bool:
        """Whether the median meets the target."""
        return (self.most is None or self.median <= self.most) and (self.least is None or self.median >= self.least)

    @property
    def bound(self) -> str:
        """The target as text."""
        if self.most is not None:
            return f"≤ {trimmed(self.most)}"
        return f"≥ {trimmed(self.least)}" if self.least is not None else ""

    @property
    def spread(self) -> str:
        """The smallest and the largest repetition, and their number."""
        return f"{trimmed(min(self.values))} – {trimmed(max(self.values))} ({len(self.values)}×)"


@dataclass(frozen=True)
class Report:
    """All figures of one call, with the machine, the time and the command."""

    at: str
    machine: str
    versions: str
    command: str
    seconds: float
    figures: tuple[Figure, ...]

    @property
    def missed(self) -> tuple[Figure, ...]:
        """Figures that miss their target."""
        return tuple(figure for figure in self.figures if not figure.ok)


def report(figures: Sequence[Figure], seconds: float) -> Report:
    """The figures with the machine and the time at which they were measured."""
    command = " ".join(["lk", *sys.argv[1:]])
    now = datetime.now(UTC).isoformat(sep=" ", timespec="minutes").replace("+00:00", " UTC")
    return Report(now, machine(), versions(), command, seconds, tuple(figures))


def markdown(measured: Report) -> str:
    """The page of figures, as Markdown."""
    lines = [
        "# Figures",
        "",
        f"Measured by `{measured.command}` on {measured.at} in {measured.seconds / 60:.0f} minutes.",
        "",
        f"Machine: {measured.machine}. {measured.versions}.",
        "",
        "| figure | what | target | median | smallest – largest (repetitions) | unit | |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = ((f.name, f.what, f.bound, trimmed(f.median), f.spread, f.unit, _verdict(f)) for f in measured.figures)
    lines += [f"| {' | '.join(row)} |" for row in rows]
    hows = [f"- **{f.name}**: {f.how}" for f in measured.figures if f.how]
    return "\n".join([*lines, "", "## How each figure is measured", "", *hows, ""])


def _verdict(figure: Figure) -> str:
    return "" if figure.ok else "**missed**"


def machine() -> str:
    """The processor, cores, memory and system of this machine."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{_cpu()}, {psutil.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> str:
    """The versions of Python and of the engines."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "delta-spark", "deltalake"))
    return f"Python {platform.python_version()}, {packages}"
