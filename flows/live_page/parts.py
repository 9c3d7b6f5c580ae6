"""A part of the state that is read again and again, in a thread of its own: one that hangs hides no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from core.errors import LkError
from infra.library_errors import unexpected

T = TypeVar("T")
REST = 4.0  # a part that took a second is not read again for four


@dataclass(frozen=True)
class Reading(Generic[T]):
    """The last good value of a part, when it was read and how many seconds that took.

    ``problem`` says why the last attempt gave no value; "" if it gave this one.
    """

    value: T | None = None
    at: datetime | None = None
    seconds: float = 0.0
    problem: str = "not read yet"


class Part(Generic[T]):
    """Reads one part of the state, at most once at a time, and rests in proportion to what that took."""

    def __init__(self, name: str, read: Callable[[], T], *, every: float, limit: float) -> None:
        """``every`` is the shortest time between two reads; after ``limit`` seconds a read counts as not answered."""
        self.name = name
        self._read, self._every, self._limit = read, every, limit
        self._reading: Reading[T] = Reading()
        self._began: float | None = None
        self._due = 0.0

    def start_if_due(self, slowest: float) -> threading.Thread | None:
        """Starts a read in a thread, unless one runs or the last was less than ``slowest`` or ``every`` ago."""
        now = time.monotonic()
        if self._began is not None or now < self._due:
            return None
        self._began, self._due = now, now + max(self._every, slowest)
        thread = threading.Thread(target=self._run, name=f"read {self.name}", daemon=True)
        thread.start()
        return thread

    def make_due(self) -> None:
        """Ends the long pause of an unwatched page; the pause after a slow read stays."""
        self._due = min(self._due, time.monotonic() + REST * self._reading.seconds)

    @property
    def reading(self) -> Reading[T]:
        """The last good value, and what is wrong since."""
        began = self._began
        if began is not None and time.monotonic() - began > self._limit:
            return replace(self._reading, problem=f"no answer within {self._limit:.0f} s")
        return self._reading

    def _run(self) -> None:
        began = time.monotonic()
        try:
            value = self._read()
            self._reading = Reading(value, datetime.now(UTC), time.monotonic() - began, "")
        except LkError as error:
            self._reading = replace(self._reading, problem=f"{error.what}: {error.fix}" if error.fix else error.what)
        except BaseException as error:  # a panic of delta-rs is no Exception, and must not end the reads
            self._reading = replace(self._reading, problem=unexpected(error))
        finally:
            self._due = max(self._due, time.monotonic() + REST * (time.monotonic() - began))
            self._began = None
