"""Java properties files, which configure the servers and Spark's log."""

from __future__ import annotations

from collections.abc import Mapping

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})


def properties(values: Mapping[str, object]) -> str:
    """The text of a properties file."""
    return "".join(f"{key}={str(value).translate(_ESCAPED)}\n" for key, value in values.items())
