"""Nothing but a Name may become part of SQL or of a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Usage
from core.identifiers import Name, joined, quoted


@pytest.mark.parametrize("text", ["trades", "a", "trade_stats", "a1_b2", "x" * 60])
def test_names(text: str) -> None:
    assert Name(text) == text


@pytest.mark.parametrize(
    "text", ["", "_a", "a_", "a__b", "1a", "A", "a-b", "a b", "a.b", 'a"', "a\n", "../a", "ä", "x" * 61]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(Usage, match="is not a name"):
        Name(text)


@given(st.text(max_size=20))
def test_what_is_quoted_cannot_end_the_quote(text: str) -> None:
    try:
        sql = quoted(text)
    except Usage:
        return
    assert sql == f'"{text}"'
    assert not set(text) & set('"\\\n;. ')


def test_two_names_are_joined_by_what_no_name_has() -> None:
    assert quoted("batch", joined(Name("trade_stats"), Name("b000003"))) == '"batch"."trade_stats__b000003"'
    with pytest.raises(Usage):
        quoted("a__")
