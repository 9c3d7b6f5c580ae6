"""Who may write which records to a route's topics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.cut import Cut, Span
from core.identifiers import Name
from core.route_ownership import Ownership, Slice, next_slice

A, B, T = Name("r000001"), Name("r000002"), Name("lines")


def tenure(run: Name, since: int) -> Ownership:
    return Ownership(run, Cut.of({T: {0: since}}))


def test_a_run_writes_live_while_it_owns_the_topics() -> None:
    known = [tenure(A, 0), tenure(B, 10), tenure(A, 25)]
    assert next_slice(known, A, Span(T, 0, 0, 30)) == Slice(Span(T, 0, 0, 10), live=True)
    assert next_slice(known, A, Span(T, 0, 10, 30)) == Slice(Span(T, 0, 10, 25), live=False)
    assert next_slice(known, A, Span(T, 0, 25, 30)) == Slice(Span(T, 0, 25, 30), live=True)
    assert next_slice(known, B, Span(T, 0, 0, 5)) == Slice(Span(T, 0, 0, 5), live=False)


def test_a_partition_without_records_at_a_handover_belongs_to_who_came_last() -> None:
    known = [tenure(A, 0), tenure(B, 10)]
    assert next_slice(known, B, Span(T, 1, 0, 5)) == Slice(Span(T, 1, 0, 5), live=True)
    assert next_slice(known, A, Span(T, 1, 0, 5)) == Slice(Span(T, 1, 0, 5), live=False)


@given(st.lists(st.tuples(st.sampled_from([A, B]), st.integers(0, 20)), max_size=5), st.integers(1, 40))
def test_each_offset_is_written_live_by_exactly_one_run(changes: list[tuple[Name, int]], end: int) -> None:
    cuts = sorted(since for _, since in changes)
    known = [tenure(A, 0), *(tenure(run, since) for (run, _), since in zip(changes, cuts, strict=True))]
    writers: dict[int, list[Name]] = {offset: [] for offset in range(end)}
    for run in (A, B):
        at = 0
        while at < end:
            part = next_slice(known, run, Span(T, 0, at, end))
            assert part.span.start == at < part.span.end <= end
            if part.live:
                for offset in range(at, part.span.end):
                    writers[offset].append(run)
            at = part.span.end
    assert {len(runs) for runs in writers.values()} == {1}
