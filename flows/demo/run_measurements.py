"""The measured values of one run of the demo, as the study stores its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.evidence.measurement import Measurement
from flows.demo.both_modes import ModeFigures
from flows.demo.run_demo import Demo
from flows.measure.freshness import Freshness

BOTH_RUNS = "both runs read"  # the situation while a mode is measured: the run of the other mode reads the log too
THERE_AND_BACK = "to kappa and back"


def measurements(demo: Demo) -> list[Measurement]:
    """Every value of the run, once; what was measured of one mode only, or before it was warm, is left out.

    The answers to the readers have the question "answers": ``x`` is seconds since the change, ``value`` the seconds
    that the answer took, ``mode`` the mode that answered.
    """
    size = sum(topic.log for topic in demo.topics)
    value = partial(Measurement, at=demo.at, size=size)
    return [
        *_counts(demo, value),
        *_freshness("lambda", demo.freshness, "beside a batch", value),
        *_changes(demo, value),
        *(row for mode in demo.switched.modes for row in _full_and_parts(mode, value)),
        *_live(demo, value),
        *_answers(demo, value),
    ]


def _counts(demo: Demo, value: partial[Measurement]) -> Iterator[Measurement]:
    for topic in demo.topics:
        for view, events in topic.views.items():
            yield value("records-lost", "lambda", max(0.0, topic.valid - events), view=view)
            yield value("records-twice", "lambda", max(0.0, events - topic.valid), view=view)
    for comparison in demo.switched.proof:
        yield value("replay-cells", "kappa", float(comparison.differences), view=comparison.view)


def _freshness(mode: str, freshness: Freshness, situation: str, value: partial[Measurement]) -> Iterator[Measurement]:
    for percent, seconds in ((50, freshness.p50), (95, freshness.p95), (99, freshness.p99)):
        yield value("freshness", mode, seconds, situation=situation, x=float(percent))


def _changes(demo: Demo, value: partial[Measurement]) -> Iterator[Measurement]:
    switched, readers = demo.switched, demo.switched.readers
    yield value("rollback", "lambda", switched.rollback_seconds)
    if readers.answers:
        right = 1 - min(1.0, len(readers.errors) / readers.answers)
        yield value("right-answers", "", right, situation=THERE_AND_BACK)
        yield value("reader-pause", "", readers.pause, situation=THERE_AND_BACK)


def _full_and_parts(mode: ModeFigures, value: partial[Measurement]) -> Iterator[Measurement]:
    rebuilt, millions = mode.rebuilt, mode.rebuilt.records / 10**6
    yield value("rate", mode.name, rebuilt.rate, part="rebuild")
    yield value("cpu", mode.name, rebuilt.usage.cpu / millions, part="rebuild")
    if rebuilt.usage.written:  # 0 where the OS does not count it
        yield value("written", mode.name, rebuilt.usage.written / 10**6 / millions, part="rebuild")
    yield value("disk", mode.name, mode.disk / 10**6, part="without the log", situation=BOTH_RUNS)
    for part, names in (("processes", mode.processes), ("jobs", mode.jobs), ("tables", mode.tables)):
        yield value("parts", mode.name, float(len(names)), part=part)


def _live(demo: Demo, value: partial[Measurement]) -> Iterator[Measurement]:
    """What is compared only where both modes were warm."""
    if not all(mode.is_warm for mode in demo.switched.modes):
        return
    for mode in demo.switched.modes:
        yield from _freshness(mode.name, mode.freshness, BOTH_RUNS, value)
        yield value("query-time", mode.name, mode.latency, situation=BOTH_RUNS, x=50.0)
        if mode.live_records:
            millions = mode.live_records / 10**6
            yield value("cpu", mode.name, mode.live.cpu / millions, situation=BOTH_RUNS, part="live")
        if mode.live_records and mode.live.written:
            yield value("written", mode.name, mode.live.written / 10**6 / millions, situation=BOTH_RUNS, part="live")


def _answers(demo: Demo, value: partial[Measurement]) -> Iterator[Measurement]:
    for situation, answers in demo.switched.timelines.items():
        for answer in answers:
            yield value("answers", answer.mode, answer.seconds, situation=situation, x=answer.since)
