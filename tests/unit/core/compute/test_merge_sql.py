"""The exact text of the merge SQL."""

import pytest

from core.compute.merge_sql import batch_part, comments, merge_sql, no_row_sql, serving_sql, speed_part
from core.errors import Usage
from core.identifiers import Name
from core.measures import Count, Latest, Sum
from core.view import Key, Keyed, Result, Rollup, Shown, Window

VIEW = Rollup(
    "v",
    ("t",),
    keys=(Key("k", "a", comment="a key"),),
    window=Window("w", 1_000, comment="a start"),
    measures=(Count("n"), Sum("s", "x"), Latest("last", "x", type="bigint", comment="newest")),
    shown=(Shown("mean", "s / n", comment="a mean"),),
)
COLUMNS = '"k", "w", "n", "s", "last", "_last_at", "_rows"'


def test_a_part_reads_the_stored_columns() -> None:
    assert batch_part(VIEW, '"b"."v"') == f'SELECT {COLUMNS} FROM "b"."v"'
    assert speed_part(VIEW, '"s"."v"', 17) == f'SELECT {COLUMNS} FROM "s"."v" WHERE first_epoch > 17'


def test_parts_are_merged_by_key() -> None:
    assert merge_sql(VIEW, ["A", "B"]) == (
        'SELECT "k", "w", sum(n) AS "n", sum(s) AS "s", max_by(last, _last_at) AS "last", '
        'max(_last_at) AS "_last_at", sum(_rows) AS "_rows" FROM (A UNION ALL B) GROUP BY "k", "w"'
    )


def test_people_see_no_hidden_columns() -> None:
    assert serving_sql(VIEW, ["A"]) == (
        f'SELECT "k", "w", "n", "s", "last", s / n AS "mean" FROM ({merge_sql(VIEW, ["A"])})'
    )


def test_no_row_is_selected_from_the_parts_of_views() -> None:
    assert no_row_sql({Name("v"): ["A", "B"], Name("w"): ["C"]}) == (
        "SELECT 'v' FROM (A UNION ALL B) WHERE false UNION ALL SELECT 'w' FROM (C) WHERE false"
    )


def test_comments_are_of_the_shown_columns() -> None:
    assert comments(VIEW) == {"k": "a key", "w": "a start", "n": "", "s": "", "last": "newest", "mean": "a mean"}


def test_a_merge_without_parts_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        merge_sql(VIEW, [])


def test_an_invalid_column_name_never_reaches_sql() -> None:
    with pytest.raises(Usage):
        batch_part(Rollup("v", ("t",), keys=(Key('k" --', "a"),), measures=(Count("n"),)), "T")


KEYED = Keyed(
    "k",
    ("t",),
    keys=(Key("who", "who"),),
    query="SELECT who, n FROM {t}",
    results=(Result("n", "bigint"),),
    shown=(Shown("twice", "2 * n"),),
    only="n > 1",
)


def test_the_newest_rows_of_a_unit_of_a_keyed_view_win() -> None:
    stored = '"who", "n", "_segment", "_rows"'
    build, run = batch_part(KEYED, "B"), speed_part(KEYED, "S", 17, 20)
    assert build == f"SELECT {stored}, BIGINT '-2' AS \"_epoch\" FROM B"
    assert run == f'SELECT {stored}, last_epoch AS "_epoch" FROM S WHERE first_epoch > 17 AND last_epoch <= 20'
    assert merge_sql(KEYED, [build, run]) == (
        f'SELECT {stored} FROM (SELECT *, max(_epoch) OVER (PARTITION BY "who", "_segment") AS _newest '
        f"FROM ({build} UNION ALL {run})) WHERE _epoch = _newest AND _rows > 0"
    )


def test_the_served_view_applies_the_filter_of_a_view() -> None:
    unfiltered = f'SELECT "who", "n", 2 * n AS "twice" FROM ({merge_sql(KEYED, ["A"])})'
    assert serving_sql(KEYED, ["A"]) == f"SELECT * FROM ({unfiltered}) WHERE n > 1"
