"""A text of SQL names a column also after a line end and in capitals; a comment at its end hides nothing."""

from __future__ import annotations

import pytest

from core.measures import Count, Sum
from core.sql_names import mentions, spliced, texts_of
from core.view import Key, Rollup, Window


@pytest.mark.parametrize("sql", ["price > 5", "\nprice > 5", "\tprice>5", "PRICE > 5", "abs(Price)", "n=1 and\nprice"])
def test_a_column_is_named_in_any_case_and_place(sql: str) -> None:
    assert mentions(sql, "price")


@pytest.mark.parametrize("sql", ["prices > 5", "the_price > 5", "'x' = kind"])
def test_another_column_is_not_named(sql: str) -> None:
    assert not mentions(sql, "price")


def test_every_text_of_a_definition_is_read() -> None:
    view = Rollup(
        "v",
        ("songs",),
        keys=(Key("artist", "lower(artist)"),),
        measures=(Count("n"), Sum("paid", "price * plays")),
        window=Window("day", 86_400_000),
        where="\nkind = 1",
    )
    texts = list(texts_of([view]))
    assert {"lower(artist)", "price * plays", "\nkind = 1", "songs", "day"} <= set(texts)


def test_a_comment_ends_before_what_follows() -> None:
    assert f"coalesce({spliced('a > 1 -- dear')}, false)" == "coalesce(a > 1 -- dear\n, false)"
    assert spliced("a > 1") == "a > 1"
