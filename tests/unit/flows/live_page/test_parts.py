"""A part that fails or hangs says so and keeps its last good value; it pauses in proportion to what it took."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import partial

import pytest

from core.errors import TryAgain
from flows.live_page.parts import Part


def read(part: Part[int]) -> None:
    while (thread := part.start_if_due(0)) is None:
        continue  # it pauses for some microseconds
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


def test_it_pauses_four_times_as_long_as_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
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


def seconds_of_pause(monkeypatch: pytest.MonkeyPatch, part_of: Callable[[Callable[[], int]], Part[int]]) -> list[int]:
    """The seconds after a read of a minute at which the part is read again, of those asked for."""
    now = [100.0]
    monkeypatch.setattr("flows.live_page.parts.time.monotonic", lambda: now[0])

    def a_minute() -> int:
        now[0] += 60.0
        return 1

    part = part_of(a_minute)
    read(part)
    due = []
    for second in (9, 11, 29, 31, 239, 241):
        now[0] = 160.0 + second
        if thread := part.start_if_due(0):
            thread.join(10)
            due.append(second)
            break
    return due


def test_a_server_that_hangs_makes_it_pause_no_longer_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for longest, due in ((10.0, [11]), (30.0, [31]), (math.inf, [241])):
        part_of = partial(Part, "processes", every=2, limit=8, longest_pause=longest)
        assert seconds_of_pause(monkeypatch, part_of) == due


def test_a_part_whose_thread_cannot_start_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    part = Part("log", lambda: 7, every=3_600, limit=5)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert part.start_if_due(0) is None
    assert part.reading.problem == "unexpected RuntimeError: can't start new thread"
    read(part)
    assert (part.reading.value, part.reading.problem) == (7, "")


def test_only_before_its_first_answer_or_its_limit_is_it_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    now, go_on = [100.0], threading.Event()
    monkeypatch.setattr("flows.live_page.parts.time.monotonic", lambda: now[0])
    part = Part("sizes", lambda: int(go_on.wait(20)), every=300, limit=300)
    assert part.reading.is_awaited
    thread = part.start_if_due(0)
    assert thread
    now[0] = 399.0
    assert part.reading.is_awaited
    now[0] = 401.0
    assert not part.reading.is_awaited
    go_on.set()
    thread.join(10)
    assert not part.reading.is_awaited


def test_a_reading_has_the_time_of_a_clock_that_nobody_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.live_page.parts.time.monotonic", lambda: 123.0)
    part = Part("log", lambda: 7, every=0, limit=5)
    read(part)
    assert part.reading.clock == 123.0
