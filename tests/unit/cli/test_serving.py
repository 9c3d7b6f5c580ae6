"""The rows of `lk query`, `show` and `get` for people."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cli.serving import _csv_cell, emit_rows
from infra.trino.client import QueryResult


def test_cells_of_csv_are_no_formulas_and_numbers_stay_numbers() -> None:
    texts = ["=cmd()", "-5", "a", b"=1", None]
    assert [_csv_cell(value) for value in texts] == ["'=cmd()", "'-5", "a", "'=1", None]
    assert [_csv_cell(value) for value in (-5, -1.5, Decimal("-0.10"), True)] == [-5, -1.5, "-0.10", True]


def test_cells_of_csv_steer_no_terminal_whatever_reads_the_output() -> None:
    texts = ["\x1b[2J", b"a\x1b", "a\nb", "\u202ex", ["\x1b"], {"\x1b": "\x9b"}]
    expected = ["\\x1b[2J", "a\\x1b", "a\\nb", "\\u202ex", "['\\x1b']", "{'\\x1b': '\\x9b'}"]
    assert [str(_csv_cell(value)) for value in texts] == expected


def test_numbers_of_sql_have_no_thousands_separators(capsys: pytest.CaptureFixture[str]) -> None:
    columns, types = ("_offset", "volume", "mean"), ("bigint", "decimal(38,2)", "double")
    emit_rows(QueryResult(columns, ((1234567, Decimal("1234.50"), 1234.5),), types))
    assert capsys.readouterr().out.splitlines()[3] == "│ 1234567 │ 1234.50 │ 1234.500 │"
