"""A query whose groups exceed the memory of a query is answered: Trino writes them to files."""

from __future__ import annotations

import contextlib

import pytest
from trino.dbapi import connect
from trino.exceptions import TrinoQueryError

from infra.settings import Settings
from infra.trino.login import login

ROWS = 300 * 10_000
GROUPS = """
    SELECT count(*), sum(number) FROM (
      SELECT high * 10000 + low AS number, count(*) AS rows
      FROM UNNEST(sequence(1, 300)) AS highs (high) CROSS JOIN UNNEST(sequence(1, 10000)) AS lows (low)
      GROUP BY 1
    ) WHERE rows = 1
"""


def groups(stack: Settings, **properties: str) -> list[list[int]]:
    """The number of groups and their sum, with 64 MB for the query."""
    session = {"query_max_memory_per_node": "64MB", **properties}
    opened = connect(**login(stack), session_properties=session)  # type: ignore[no-untyped-call]
    with contextlib.closing(opened) as connection:
        rows: list[list[int]] = connection.cursor().execute(GROUPS).fetchall()
        return rows


def test_groups_that_do_not_fit_into_the_memory_of_a_query_are_spilled(stack: Settings) -> None:
    with pytest.raises(TrinoQueryError, match="Query exceeded per-node memory limit of 64MB"):
        groups(stack, spill_enabled="false")
    assert groups(stack) == [[ROWS, sum(range(10_001, 3_010_001))]]
