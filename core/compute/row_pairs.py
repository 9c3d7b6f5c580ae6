"""Pairs the rows in which two sides differ, so that a person sees which cells do. Pure Python, for few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def differing_columns(left: Row | None, right: Row | None) -> tuple[str, ...]:
    """The columns whose cells differ, in the order of the left row; none where a row is missing."""
    if left is None or right is None:
        return ()
    columns = dict.fromkeys([*left, *right])
    return tuple(column for column in columns if left.get(column) != right.get(column))


def pair_rows(key: Sequence[str], left: Sequence[Row], right: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """Each row of a side with the unpaired row of the same key on the other side that has most cells in common.

    A row without such a partner is paired with None.
    """
    unpaired = list(right)
    pairs: list[tuple[Row | None, Row | None]] = []
    for row in left:
        partners = [other for other in unpaired if all(row.get(name) == other.get(name) for name in key)]
        partner = min(partners, key=lambda other: len(differing_columns(row, other)), default=None)
        if partner is not None:
            unpaired.remove(partner)
        pairs.append((row, partner))
    return pairs + [(None, row) for row in unpaired]
