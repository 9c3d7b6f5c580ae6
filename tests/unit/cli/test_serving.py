"""The rows of `lk query`, `show` and `get` for people."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cli.serving import emit_rows
from infra.trino.client import QueryResult


def test_numbers_of_sql_have_no_thousands_separators(capsys: pytest.CaptureFixture[str]) -> None:
    columns, types = ("_offset", "volume", "mean"), ("bigint", "decimal(38,2)", "double")
    emit_rows(QueryResult(columns, ((1234567, Decimal("1234.50"), 1234.5),), types))
    assert capsys.readouterr().out.splitlines()[3] == "│ 1234567 │ 1234.50 │ 1234.500 │"
