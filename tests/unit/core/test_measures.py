"""Measures: their stored columns and their SQL."""

from core.measures import POSITION_TYPE, Column, Count, First, Latest, Max, Min, Sum
from core.view import Key, Rollup, Window


def test_count_of_a_predicate_counts_the_rows_for_which_it_is_true() -> None:
    assert Count("n").aggregate == {"n": "count(1)"}
    assert Count("errors", "status >= 400").aggregate == {"errors": "count_if(status >= 400)"}
    assert Count("errors", "status >= 400").combine == {"errors": "sum(errors)"}


def test_sums_are_decimals_that_never_round() -> None:
    assert Sum("volume", "size").stored == (Column("volume", "decimal(38,0)"),)
    assert Sum("turnover", "price", scale=2).stored == (Column("turnover", "decimal(38,2)"),)


def test_latest_stores_the_position_of_its_event() -> None:
    last = Latest("last", "price", type="decimal(10,2)")
    assert last.stored == (Column("last", "decimal(10,2)"), Column("_last_at", POSITION_TYPE))
    assert last.combine == {"last": "max_by(last, _last_at)", "_last_at": "max(_last_at)"}
    assert First("f", "price").combine == {"f": "min_by(f, _f_at)", "_f_at": "min(_f_at)"}


def test_a_view_stores_keys_window_measures_and_the_row_count() -> None:
    view = Rollup(
        "v",
        ("t",),
        keys=(Key("k", "a", "bigint"),),
        window=Window("w", 5_000, 1_000),
        measures=(Count("n"), Min("lo", "a"), Max("hi", "a")),
    )
    assert [(c.name, c.type) for c in view.stored_columns] == [
        ("k", "bigint"),
        ("w", "timestamp"),
        ("n", "bigint"),
        ("lo", "bigint"),
        ("hi", "bigint"),
        ("_rows", "bigint"),
    ]


def test_an_event_is_in_size_divided_by_hop_windows() -> None:
    assert Window("w", 5_000, 1_000).copies == 5
    assert Window("w", 5_000).copies == 1
    assert Window("w", 5_000).pane == 5_000
