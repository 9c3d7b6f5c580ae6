"""A part of the state that is read again and again, in a thread of its own: one that hangs hides no other."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from core.errors import LkError
from infra.library_errors import unexpected

T = TypeVar("T")
PAUSE_FACTOR = 4.0  # a part that took a second is not read again for four
LONGEST_PAUSE = 30.0  # seconds: a server that hangs makes a read slow, and what it says would be as old
_NOT_READ = "not read yet"


def pause_after(seconds: float, longest: float = LONGEST_PAUSE) -> float:
    """For how many seconds a part pauses after a read that took so many."""
    return min(PAUSE_FACTOR * seconds, longest)


@dataclass(frozen=True)
class Reading(Generic[T]):
    """The last good value of a part, when it was read and how many seconds that took.

    ``problem`` says why the last attempt gave no value; "" if it gave this one. ``clock`` is ``at`` by a clock that
    nobody sets, in seconds. ``pause`` is for how many seconds the part is not read after it.
    """

    value: T | None = None
    at: datetime | None = None
    seconds: float = 0.0
    problem: str = _NOT_READ
    clock: float = 0.0
    pause: float = 0.0

    @property
    def is_awaited(self) -> bool:
        """Whether its first read goes on, and has not taken too long yet."""
        return self.at is None and self.problem == _NOT_READ


def read_due(parts: Iterable[Part[Any]], slowest: float, patience: float) -> None:
    """Starts the reads of the parts that are due, and waits for them; after ``patience`` seconds they go on alone."""
    started = [thread for part in parts if (thread := part.start_if_due(slowest))]
    deadline = time.monotonic() + patience
    for thread in started:
        thread.join(max(0.0, deadline - time.monotonic()))


class Part(Generic[T]):
    """Reads one part of the state, at most once at a time, and pauses in proportion to what that took."""

    def __init__(
        self, name: str, read: Callable[[], T], *, every: float, limit: float, longest_pause: float = math.inf
    ) -> None:
        """``every`` is the shortest time between two reads; after ``limit`` seconds a read counts as not answered.

        ``longest_pause`` is the longest time that it pauses after a slow read.
        """
        self.name, self.limit = name, limit
        self._read, self._every, self._longest_pause = read, every, longest_pause
        self._reading: Reading[T] = Reading()
        self._began: float | None = None
        self._due = self._paused_until = 0.0

    def start_if_due(self, slowest: float) -> threading.Thread | None:
        """Starts a read in a thread, unless one runs or the last was less than ``slowest`` or ``every`` ago."""
        now, due = time.monotonic(), self._due
        if self._began is not None or now < due:
            return None
        self._began, self._due = now, now + max(self._every, slowest)
        thread = threading.Thread(target=self._run, name=f"read {self.name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # this user has as many threads as the system allows
            self._reading = replace(self._reading, problem=unexpected(error))
            self._began, self._due = None, due
            return None
        return thread

    def make_due(self) -> None:
        """Ends the long pause of an unwatched page; the pause after a slow read stays."""
        self._due = min(self._due, self._paused_until)

    @property
    def reading(self) -> Reading[T]:
        """The last good value, and what is wrong since."""
        began = self._began
        if began is not None and time.monotonic() - began > self.limit:
            return replace(self._reading, problem=f"no answer within {self.limit:.0f} s")
        return self._reading

    def _run(self) -> None:
        began = time.monotonic()
        try:
            value = self._read()
            now = time.monotonic()
            pause = pause_after(now - began, self._longest_pause)
            self._reading = Reading(value, datetime.now(UTC), now - began, "", now, pause)
        except LkError as error:
            self._reading = replace(self._reading, problem=f"{error.what}: {error.fix}" if error.fix else error.what)
        except BaseException as error:  # a panic of delta-rs is no Exception, and must not end the reads
            self._reading = replace(self._reading, problem=unexpected(error))
        finally:
            now = time.monotonic()
            self._paused_until = now + pause_after(now - began, self._longest_pause)
            self._due = max(self._due, self._paused_until)
            self._began = None
