"""A part that fails or hangs says so and keeps its last good value; it rests in proportion to what it took."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from core.errors import TryAgain
from flows.live_page.parts import Part


def read(part: Part[int]) -> None:
    while (thread := part.start_if_due(0)) is None:
        continue  # it rests for some microseconds
    thread.join(10)


def failing(errors: list[BaseException | None]) -> Callable[[], int]:
    def value() -> int:
        if error := errors.pop(0):
            raise error
        return 7

    return value


class Panic(BaseException):
    """What pyo3 raises."""


def test_a_failure_keeps_the_last_value_and_names_the_fix() -> None:
    away = TryAgain("Kafka does not answer", fix="start it: `lk up`")
    part = Part("log", failing([None, away, Panic("broken"), None]), every=0, limit=5)
    assert part.reading.problem == "not read yet"
    read(part)
    assert (part.reading.value, part.reading.problem) == (7, "")
    first = part.reading.at
    part.make_due()
    read(part)
    assert (part.reading.value, part.reading.at) == (7, first)
    assert part.reading.problem == "Kafka does not answer: start it: `lk up`"
    part.make_due()
    read(part)
    assert part.reading.problem == "unexpected Panic: broken"
    part.make_due()
    read(part)
    assert part.reading.problem == ""


def test_a_part_that_hangs_is_not_started_twice_and_says_so() -> None:
    go_on = threading.Event()
    part = Part("trino", lambda: int(go_on.wait(20)), every=0, limit=0)
    thread = part.start_if_due(0)
    assert thread
    assert part.start_if_due(0) is None
    assert part.reading.problem == "no answer within 0 s"
    go_on.set()
    thread.join(10)
    assert (part.reading.value, part.reading.problem) == (1, "")


def test_it_rests_four_times_as_long_as_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("flows.live_page.parts.time.monotonic", lambda: now[0])

    def three_seconds() -> int:
        now[0] += 3.0
        return 1

    part = Part("status", three_seconds, every=2, limit=8)
    read(part)
    now[0] = 114.9
    assert part.start_if_due(0) is None
    now[0] = 115.1
    assert part.start_if_due(0) is not None
