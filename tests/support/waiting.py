"""Waiting without sleeping: a condition is asked again and again, until it holds or a deadline passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from infra.local import local_processes
from infra.retry import retry_on
from infra.settings import Settings

T = TypeVar("T")


def eventually(settings: Settings, seconds: float, condition: Callable[[], T]) -> T:
    """What ``condition`` returns once it raises no AssertionError; after the deadline its error with the logs' ends.

    Asked less and less often, at least every second: most conditions cost reading some tables.
    """
    try:
        return retry_on(AssertionError, condition, seconds, every=0.1, longest=1.0)
    except AssertionError as e:
        raise AssertionError(f"still not so after {seconds:.0f} s: {e}\n{tails(settings)}") from None


def tails(settings: Settings, lines: int = 15) -> str:
    """The end of every log of an instance, without Trino's line for each query."""
    found = []
    for log in sorted(settings.log_dir.glob("*.log")):
        said = [line[:300] for line in local_processes.last_lines(log, 10 * lines) if "QueryMonitor" not in line]
        found.append(f"--- {log.name}\n" + "\n".join(said[-lines:]))
    return "\n".join(found)
