"""Polls a condition until it holds or a deadline passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from infra.local import local_processes
from infra.retry import retry_on
from infra.settings import Settings
from tests.support.suite.machine_speed import patient

T = TypeVar("T")


def eventually(settings: Settings, seconds: float, condition: Callable[[], T]) -> T:
    """Returns the result of ``condition`` once it raises no AssertionError.

    After ``seconds``, on a slow machine later, raises the last AssertionError with the last lines of all logs. The
    pause grows from 0.1 to 1 second, because most conditions read tables.
    """
    limit = patient(seconds)
    try:
        return retry_on(AssertionError, condition, limit, every=0.1, longest=1.0)
    except AssertionError as e:
        raise AssertionError(f"the condition did not hold within {limit:.0f} s: {e}\n{tails(settings)}") from None


def tails(settings: Settings, lines: int = 15) -> str:
    """The last lines of every log of an instance, without Trino's line for each query."""
    parts = []
    for log in sorted(settings.log_dir.glob("*.log")):
        shown = [line[:300] for line in local_processes.last_lines(log, 10 * lines) if "QueryMonitor" not in line]
        parts.append(f"--- {log.name}\n" + "\n".join(shown[-lines:]))
    return "\n".join(parts)
