"""A redriven record: the repaired copy of one that could not be decoded, which tells where that is and what it held.

So whoever reads the copy can tell, from it alone, whether its original decodes by now: then the copy is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as fn

ORIGIN = "lk_origin"  # header: topic/partition/offset of the original
_KEY, _VALUE = "lk_origin_key", "lk_origin_value"  # headers: its bytes
RULE = "redriven_original_decodes"  # what a copy breaks that is dropped

Headers = Sequence[tuple[str, bytes | None]]


def headers(origin: str, key: bytes | None, value: bytes | None, own: Headers) -> list[tuple[str, bytes | None]]:
    """The headers of a copy: those that its original had, and what it was."""
    return [*own, (ORIGIN, origin.encode()), (_KEY, key), (_VALUE, value)]


def origin_of(found: Iterable[tuple[str, Any]]) -> str | None:
    """Where the original of a copy is; None of a record that is no copy."""
    return next((value.decode() for name, value in found if name == ORIGIN and value), None)


def is_copy() -> Column:
    """Whether a record is one."""
    return fn.coalesce(fn.array_contains(fn.col("_headers.key"), ORIGIN), fn.lit(False))


def original_key() -> Column:
    """The key of a copy's original; null of other records."""
    return _header(_KEY)


def original_value() -> Column:
    """The value of a copy's original; null of other records."""
    return _header(_VALUE)


def _header(name: str) -> Column:
    place = fn.array_position(fn.col("_headers.key"), name).cast("int") - 1
    return fn.get(fn.col("_headers.value"), place)
