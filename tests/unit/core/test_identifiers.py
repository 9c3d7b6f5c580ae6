"""Only a Name becomes part of SQL or of a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Usage
from core.identifiers import Name, joined, quoted


@pytest.mark.parametrize("text", ["trades", "a", "trade_stats", "a1_b2", "x" * 60])
def test_a_name_is_lower_case_words_joined_by_underscores(text: str) -> None:
    assert Name(text) == text


@pytest.mark.parametrize(
    "text", ["", "_a", "a_", "a__b", "1a", "A", "a-b", "a b", "a.b", 'a"', "a\n", "../a", "ä", "x" * 61]
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(Usage, match="is not a name"):
        Name(text)


@given(st.text(max_size=20))
def test_a_quoted_name_cannot_end_its_quotes(text: str) -> None:
    try:
        sql = quoted(text)
    except Usage:
        return
    assert sql == f'"{text}"'
    assert not set(text) & set('"\\\n;. ')


def test_two_names_are_joined_by_a_double_underscore_which_no_name_contains() -> None:
    assert quoted("batch", joined(Name("trade_stats"), Name("b000003"))) == '"batch"."trade_stats__b000003"'
    with pytest.raises(Usage):
        quoted("a__")
