"""One measured value, as the study stores it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MODES = ("lambda", "kappa")
DAYS = 10  # of the history in a study's log
# Situations and parts that rules compare.
STEADY, WHOLE, ONE_DAY = "steady", "whole history", f"one day of {DAYS}"
TOTAL = "in all"  # the part that stands for all parts


@dataclass(frozen=True)
class Measurement:
    """One measured value that answers a question.

    ``mode`` is one of MODES, or "" for a value of both. ``situation`` says what else went on ("steady", "beside a
    batch"); ``part`` is a share of a whole ("proof" of a correction, "log" of a disk); ``view`` is "" for all views.
    ``size`` is the number of records in the log, ``repetition`` counts from 1. ``x`` is the place on the question's
    axis (an age in seconds, a percentile); None if it has none. ``value`` has the unit of the question.
    ``busy`` is true if other programs used the machine meanwhile.
    """

    question: str
    mode: str
    value: float
    at: datetime
    situation: str = ""
    part: str = ""
    view: str = ""
    size: int = 0
    repetition: int = 1
    x: float | None = None
    busy: bool = False
