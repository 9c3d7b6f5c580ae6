"""Examples of views: how their tables and records are parsed."""

from __future__ import annotations

import pytest

from core.example import Example, ExampleRecord, example_records, expected_rows
from core.measures import Count, Sum
from core.view import Key, Rollup, Window

VIEW = Rollup(
    "sales",
    sources=("orders",),
    keys=(Key("shop", "shop"), Key("open", "open", type="boolean")),
    measures=(Count("orders"), Sum("amount", "amount", scale=2)),
    window=Window("day", size=86_400_000),
)


def test_a_table_gives_rows_in_the_order_of_the_stored_columns() -> None:
    table = """
        day                       | shop         | open  | orders | amount
        2026-01-01T00:00:00Z      | a            | true  | 2      | 1.5
        2026-01-02T01:00:00+01:00 | null         | false | 1      | null
        2026-01-03T00:00:00.500Z  | "x | \\"y\\"" | true  | 1      | -7
    """
    assert expected_rows(VIEW, Example({}, table)) == [
        ("a", "true", "2026-01-01T00:00:00Z", "2", "1.50"),
        (None, "false", "2026-01-02T00:00:00Z", "1", None),
        ('x | "y"', "true", "2026-01-03T00:00:00.5Z", "1", "-7.00"),
    ]


def test_a_table_of_column_names_alone_expects_no_rows() -> None:
    assert expected_rows(VIEW, Example({}, "shop | open | day | orders | amount")) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a | true | 2026-01-01T00:00:00Z | 2.5 | 1", "row 1: orders: '2.5' is not a bigint"),
        ("a | true | 2026-01-01T00:00:00Z | 2 | 1.555", "row 1: amount: '1.555' is not a decimal(38,2)"),
        ("a | yes | 2026-01-01T00:00:00Z | 2 | 1", "row 1: open: 'yes' is not a boolean"),
        ("a | true | 2026-01-01T00:00:00 | 2 | 1", "row 1: day: '2026-01-01T00:00:00' is not a timestamp with a zone"),
        ("a | true | 2026-01-01T00:00:00Z | 2", "row 1 has 4 cells, not 5"),
    ],
)
def test_a_cell_that_does_not_fit_is_named(row: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"row 1") as refused:
        expected_rows(VIEW, Example({}, f"shop | open | day | orders | amount\n{row}"))
    assert str(refused.value) == message


def test_a_table_of_other_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="the view stores shop, open, day, orders, amount"):
        expected_rows(VIEW, Example({}, "shop | orders"))


def test_times_in_values_become_milliseconds() -> None:
    example = Example({"orders": ('{"at":ms(2026-01-01T00:00:00.250Z)}', ExampleRecord(None, key="k"))}, "")
    assert example_records(VIEW, example) == {
        "orders": [ExampleRecord('{"at":1767225600250}'), ExampleRecord(None, key="k")]
    }


def test_a_time_is_exact_to_the_millisecond() -> None:
    """One that is a millisecond less when it is computed from a float of seconds."""
    example = Example({"orders": ('{"at":ms(2004-08-07T17:37:40.143Z)}',)}, "")
    assert example_records(VIEW, example) == {"orders": [ExampleRecord('{"at":1091900260143}')]}


def test_records_of_another_topic_are_refused() -> None:
    with pytest.raises(ValueError, match="topic payments, which is not a source"):
        example_records(VIEW, Example({"payments": ("{}",)}, ""))


@pytest.mark.parametrize(
    "example",
    [
        Example({"orders": (ExampleRecord("{}", at="yesterday"),)}, ""),
        Example({"orders": ("ms(2026-01-01T00:00:00)",)}, ""),
        Example({}, "", processed_at="2026-01-01T00:00:00"),
    ],
)
def test_times_need_a_zone(example: Example) -> None:
    with pytest.raises(ValueError, match=r"yesterday|has no zone: write 2026-01-01T00:00:00Z"):
        example_records(VIEW, example)
