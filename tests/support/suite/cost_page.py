"""Writes the page of test costs: `python -m tests.support.suite.cost_page COSTS.jsonl PAGE.md`."""

from __future__ import annotations

import json
import platform
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.support.suite.machine_speed import loop_seconds

_SLOW = 5.0  # CPU seconds; faster tests are only in the sum of their file


class CostOfTest(NamedTuple):
    """Wall-clock and CPU seconds of one test, with servers and the set-up of shared fixtures; its end and worker."""

    test: str
    wall: float
    cpu: float
    end: float
    worker: str


def read(path: Path) -> list[CostOfTest]:
    """The lines that tests/support/suite/cost.py wrote."""
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [CostOfTest(line["test"], line["wall"], line["cpu"], line["end"], line["worker"]) for line in lines]


def page(costs: list[CostOfTest]) -> str:
    """The page as Markdown: files by CPU time, then the tests of five or more CPU seconds."""
    files: dict[str, list[CostOfTest]] = defaultdict(list)
    for cost in costs:
        files[cost.test.partition("::")[0]].append(cost)
    by_cpu = sorted(files.items(), key=lambda file: -sum(cost.cpu for cost in file[1]))
    slow = sorted((cost for cost in costs if cost.cpu >= _SLOW), key=lambda cost: -cost.cpu)
    machine = f"{psutil.cpu_count()} cores, {round(psutil.virtual_memory().total / 2**30)} GiB, {platform.machine()}"
    total, minutes = sum(cost.cpu for cost in costs), _elapsed(costs) / 60
    workers = len({cost.worker for cost in costs})
    return "\n".join(
        [
            "# What the fast tests cost",
            "",
            f"Written by `make test-times` on {datetime.now(UTC):%Y-%m-%d}: {len(costs)} tests took {total:.0f} CPU",
            f"seconds, and {minutes:.1f} minutes from the first to the last, in {workers} processes side by side.",
            f"The machine had {machine}; a plain Python loop of 20 million steps took {loop_seconds():.1f} s on it.",
            "The first test that asks for a server or a Spark session pays for its start.",
            "",
            "| file | tests | CPU s | clock s |",
            "|---|---:|---:|---:|",
            *(
                f"| `{file}` | {len(own)} | {sum(c.cpu for c in own):.1f} | {sum(c.wall for c in own):.1f} |"
                for file, own in by_cpu
            ),
            "",
            f"Tests of more than {_SLOW:.0f} CPU seconds:",
            "",
            "| test | CPU s | clock s |",
            "|---|---:|---:|",
            *(f"| `{cost.test}` | {cost.cpu:.1f} | {cost.wall:.1f} |" for cost in slow),
            "",
        ]
    )


def _elapsed(costs: list[CostOfTest]) -> float:
    return max(cost.end for cost in costs) - min(cost.end - cost.wall for cost in costs)


def main() -> None:
    """Reads the costs, writes the page."""
    costs, target = map(Path, sys.argv[1:3])
    target.write_text(page(read(costs)), "utf-8")


if __name__ == "__main__":
    main()
