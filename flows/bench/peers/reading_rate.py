"""The rate and the CPU time at which a program reads a log, from samples of its progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.errors import Refused

_SKIPPED = 0.1  # of the log: the start of a JVM, which a longer log would hide


@dataclass(frozen=True)
class ReadingSample:
    """How many records a program has read at a time (epoch seconds), and the CPU seconds that it has used."""

    at: float
    records: int
    cpu: float


@dataclass(frozen=True)
class ReadingRate:
    """``rate`` in records a second and ``cpu`` in seconds a record, over the log but for its first part.

    ``seconds`` is from the start of the process until its result is complete.
    """

    rate: float
    cpu: float
    seconds: float


def reading_rate(
    samples: Sequence[ReadingSample], total: int, seconds: float, *, skipped: float = _SKIPPED
) -> ReadingRate:
    """The rate from the first sample behind a part of the log (``skipped``) to the first one at its end.

    Raises Refused if the samples do not reach the end, or are too few to tell.
    """
    begin = next((sample for sample in samples if sample.records >= total * skipped), None)
    end = next((sample for sample in samples if sample.records >= total), None)
    if begin is None or end is None or end.records == begin.records:
        last = samples[-1].records if samples else 0
        raise Refused(
            f"the samples do not tell a rate: the last one is at {last:,} of {total:,} records",
            fix="repeat the measurement",
        )
    read = end.records - begin.records
    return ReadingRate(read / (end.at - begin.at), (end.cpu - begin.cpu) / read, seconds)


def with_cpu(progress: Sequence[tuple[float, int]], cpu: Sequence[tuple[float, float]]) -> list[ReadingSample]:
    """Times and records, with the CPU seconds at each time: between two measurements they grow evenly."""
    return [ReadingSample(at, records, _cpu_at(at, cpu)) for at, records in progress]


def _cpu_at(at: float, cpu: Sequence[tuple[float, float]]) -> float:
    for (begin, before), (end, after) in pairwise(cpu):
        if begin <= at <= end:
            return before + (after - before) * (at - begin) / (end - begin)
    return cpu[0][1] if at < cpu[0][0] else cpu[-1][1]
