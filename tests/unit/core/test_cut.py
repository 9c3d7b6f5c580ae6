"""Cuts are vectors of offsets: partially ordered, and never a time."""

from hypothesis import given
from hypothesis import strategies as st

from core.cut import Cut, Span
from core.identifiers import Name

cuts = st.dictionaries(
    st.sampled_from(["a", "b"]), st.dictionaries(st.integers(0, 3), st.integers(0, 9), max_size=4), max_size=2
).map(Cut.of)


@given(cuts)
def test_a_cut_is_parsed_from_its_own_text(cut: Cut) -> None:
    assert Cut.parse(str(cut)) == cut


@given(cuts, cuts, cuts)
def test_cuts_are_partially_ordered(a: Cut, b: Cut, c: Cut) -> None:
    assert a <= a
    if a <= b and b <= a:
        assert a == b
    if a <= b and b <= c:
        assert a <= c


@given(cuts, cuts)
def test_a_cut_is_behind_nowhere_exactly_when_it_is_at_or_after_the_other(a: Cut, b: Cut) -> None:
    assert (a.behind(b) == ()) == (b <= a)


@given(cuts, cuts)
def test_the_size_since_an_earlier_cut_is_the_number_of_offsets_between(a: Cut, b: Cut) -> None:
    if a <= b:
        total = sum(end for _, _, end in b.ends) - sum(end for _, _, end in a.ends)
        assert b.size_since(a) == total


def test_cuts_may_be_incomparable() -> None:
    a, b = Cut.of({"t": {0: 2, 1: 1}}), Cut.of({"t": {0: 1, 1: 2}})
    assert not a <= b
    assert not b <= a
    assert a.behind(b) == (Span(Name("t"), 1, 1, 2),)


def test_a_partition_added_later_starts_at_zero() -> None:
    before, after = Cut.of({"t": {0: 5}}), Cut.of({"t": {0: 5, 1: 3}})
    assert before <= after
    assert after.since(before) == (Span(Name("t"), 1, 0, 3),)


def test_a_partition_that_ends_at_zero_equals_a_partition_that_is_not_listed() -> None:
    assert Cut.of({"t": {0: 0}}) == Cut()


def test_the_format_of_sparks_offset_log_is_parsed() -> None:
    assert Cut.parse('{"trades":{"1":7,"0":12}}').ends == (("trades", 0, 12), ("trades", 1, 7))


def test_a_cut_can_be_restricted_to_some_topics() -> None:
    assert Cut.of({"a": {0: 1}, "b": {0: 2}}).only(["b"]) == Cut.of({"b": {0: 2}})


lengths = st.tuples(st.integers(0, 9), st.integers(1, 9))


@given(lengths, lengths)
def test_spans_meet_when_they_overlap(a: tuple[int, int], b: tuple[int, int]) -> None:
    left, right = (Span(Name("t"), 0, start, start + size) for start, size in (a, b))
    assert left.meets(right) == bool(set(range(left.start, left.end)) & set(range(right.start, right.end)))


def test_spans_of_other_partitions_or_topics_never_meet() -> None:
    span = Span(Name("t"), 0, 0, 9)
    assert not span.meets(Span(Name("t"), 1, 0, 9))
    assert not span.meets(Span(Name("u"), 0, 0, 9))


def test_the_topics_of_a_cut_are_those_with_an_end() -> None:
    assert Cut.of({"b": {0: 1, 1: 2}, "a": {3: 1}, "c": {0: 0}}).topics == (Name("a"), Name("b"))
