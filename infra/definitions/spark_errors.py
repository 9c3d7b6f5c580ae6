"""The message of an error of Spark, short enough for a list of mistakes."""

from __future__ import annotations

import re


def first_sentence(error: Exception) -> str:
    """The first line of an error, without plan, stack or SQLSTATE."""
    text = str(getattr(error, "desc", None) or getattr(error, "java_exception", None) or error)
    first = text.strip().splitlines()[0]
    return re.sub(r" ?SQLSTATE: \w+.*", "", first)[:300]
