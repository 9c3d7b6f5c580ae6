"""How the page writes numbers, times and sizes."""

from __future__ import annotations

from datetime import datetime

from core.evidence.quantity import number
from core.unix_time import utc_text
from flows.plan.plan_texts import duration

UNKNOWN = "unknown"


def count(value: int | None) -> str:
    """A whole number with separators."""
    return UNKNOWN if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """A number of things: "1 view", "2 views"."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def rate(value: float | None) -> str:
    """Records per second."""
    return UNKNOWN if value is None else f"{number(value)}/s"


def seconds(value: float | None) -> str:
    """A length of time."""
    return UNKNOWN if value is None else duration(round(value, 2 if value < 1 else 1))


def utc(moment: datetime | None) -> str:
    """A moment, to the second."""
    return UNKNOWN if moment is None else utc_text(moment)
