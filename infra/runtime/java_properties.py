"""Java properties files, which configure the servers and Spark's log."""

from __future__ import annotations

from collections.abc import Mapping


def properties(values: Mapping[str, object]) -> str:
    """The text of a properties file."""
    escaped = {key: str(value).replace("\\", "\\\\") for key, value in values.items()}
    return "".join(f"{key}={value}\n" for key, value in escaped.items())
