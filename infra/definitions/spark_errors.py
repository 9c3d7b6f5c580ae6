"""The message of an error of Spark, short enough for a list of mistakes."""

from __future__ import annotations

import re

from infra.library_errors import first_line


def short_message(error: Exception) -> str:
    """The first line of an error, without plan, stack or SQLSTATE."""
    text = str(getattr(error, "desc", None) or getattr(error, "java_exception", None) or error)
    return first_line(re.sub(r" ?SQLSTATE: \w+.*", "", text))
