"""A failed comparison prints both rows with the differing cells marked, and names them in JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cli.compare import print_comparisons
from cli.output import plain
from core.cut import Cut
from core.identifiers import Name
from infra.control.comparisons import Comparison, RowDifference

DAY = "2026-01-01T00:00:00.000Z"
EQUAL = Comparison(
    run=Name("r2"),
    build=Name("b000003"),
    epoch=7,
    cut=Cut(),
    prefix=Cut(),
    view=Name("trades_by_day"),
    digest=Name("d1"),
    keys=4,
    only_build=0,
    only_run=0,
    repeated=0,
    cells=0,
    first=(),
    trino=True,
    at=datetime(2026, 1, 1, tzinfo=UTC),
    seconds=1.0,
)
DIFFERENCES = (
    RowDifference(
        {"ticker": "ACME", "day": DAY},
        1,
        1,
        {"volume": 30, "low": "1.00", "_rows": 3},
        {"volume": 31, "low": None, "_rows": 3},
    ),
    RowDifference({"ticker": "BOLT", "day": DAY}, 1, 0, {"volume": 5, "low": "2.00", "_rows": 1}, None),
    RowDifference(
        {"ticker": "ZINC", "day": DAY},
        1,
        2,
        {"volume": 9, "low": "3.00", "_rows": 1},
        {"volume": 9, "low": "3.00", "_rows": 1},
    ),
)
DIFFERENT = replace(EQUAL, only_build=1, repeated=1, cells=2, trino=False, first=DIFFERENCES)


def test_a_failed_comparison_prints_both_rows_with_the_differing_cells_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_comparisons([DIFFERENT])
    printed = capsys.readouterr().out.splitlines()
    start = printed.index("trades_by_day, the first rows that differ: cells that differ are between *stars*")
    assert [line.rstrip() for line in printed[start + 1 :]] == EXPECTED


def test_a_comparison_in_json_names_the_columns_that_differ() -> None:
    assert [row["differing"] for row in plain(DIFFERENT)["first"]] == [["volume", "low"], [], []]


def test_a_difference_is_one_sentence() -> None:
    assert [str(row) for row in DIFFERENCES] == [
        f"ticker ACME, day {DAY}: volume is 30 and 31, low is 1.00 and None in build and run",
        f"ticker BOLT, day {DAY}: only in the build",
        f"ticker ZINC, day {DAY}: rows in build and run are 1 and 2",
    ]


EXPECTED = """
┏━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃ side        ┃ ticker ┃ day                      ┃ volume ┃ low    ┃
┡━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│ build       │ ACME   │ 2026-01-01T00:00:00.000Z │ *30*   │ *1.00* │
│ run         │ ACME   │ 2026-01-01T00:00:00.000Z │ *31*   │ *null* │
│ build       │ BOLT   │ 2026-01-01T00:00:00.000Z │ 5      │ 2.00   │
│ run: no row │ BOLT   │ 2026-01-01T00:00:00.000Z │        │        │
│ build       │ ZINC   │ 2026-01-01T00:00:00.000Z │ 9      │ 3.00   │
│ run: 2 rows │ ZINC   │ 2026-01-01T00:00:00.000Z │ 9      │ 3.00   │
└─────────────┴────────┴──────────────────────────┴────────┴────────┘
""".strip("\n").splitlines()
