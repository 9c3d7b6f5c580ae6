"""Headers of a redriven record: the repaired copy of a quarantined record, with the original's position and bytes.

They allow decoding to find out, from the copy alone, whether the original decodes by now; then the copy is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as fn

ORIGIN = "lk_origin"  # header: topic/partition/offset of the original
_KEY, _VALUE = "lk_origin_key", "lk_origin_value"  # headers: bytes of the original

Headers = Sequence[tuple[str, bytes | None]]


def headers(origin: str, key: bytes | None, value: bytes | None, own: Headers) -> list[tuple[str, bytes | None]]:
    """The headers of a copy: those of its original, and the original's position and bytes.

    Headers of the original that have one of these names are left out: decoding would read them first.
    """
    kept = [header for header in own if header[0] not in (ORIGIN, _KEY, _VALUE)]
    return [*kept, (ORIGIN, origin.encode()), (_KEY, key), (_VALUE, value)]


def origin_of(headers: Iterable[tuple[str, Any]]) -> str | None:
    """Coordinates of the original of a copy; None for a record that is not a copy. A producer may forge the header."""
    origins = (value.decode("utf-8", "backslashreplace") for name, value in headers if name == ORIGIN and value)
    return next(origins, None)


def is_copy() -> Column:
    """Whether a record is a redriven copy."""
    return fn.coalesce(fn.array_contains(fn.col("_headers.key"), ORIGIN), fn.lit(False))


def original_key() -> Column:
    """The key of a copy's original; null for other records."""
    return _header(_KEY)


def original_value() -> Column:
    """The value of a copy's original; null for other records."""
    return _header(_VALUE)


def _header(name: str) -> Column:
    index = fn.array_position(fn.col("_headers.key"), name).cast("int") - 1
    return fn.get(fn.col("_headers.value"), index)
