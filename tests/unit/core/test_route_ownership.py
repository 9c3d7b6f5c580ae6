"""Each record is written to a route's output topics by the run that owns them at its offset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.cut import Cut, Span
from core.identifiers import Name
from core.route_ownership import Ownership, Slice, next_slice

A, B, T = Name("r000001"), Name("r000002"), Name("lines")


def ownership(run: Name, since: int) -> Ownership:
    return Ownership(run, Cut.of({T: {0: since}}))


def test_a_run_writes_to_the_output_topics_while_it_owns_them() -> None:
    ownerships = [ownership(A, 0), ownership(B, 10), ownership(A, 25)]
    assert next_slice(ownerships, A, Span(T, 0, 0, 30)) == Slice(Span(T, 0, 0, 10), live=True)
    assert next_slice(ownerships, A, Span(T, 0, 10, 30)) == Slice(Span(T, 0, 10, 25), live=False)
    assert next_slice(ownerships, A, Span(T, 0, 25, 30)) == Slice(Span(T, 0, 25, 30), live=True)
    assert next_slice(ownerships, B, Span(T, 0, 0, 5)) == Slice(Span(T, 0, 0, 5), live=False)


def test_a_partition_without_records_at_a_handover_belongs_to_the_last_owner() -> None:
    ownerships = [ownership(A, 0), ownership(B, 10)]
    assert next_slice(ownerships, B, Span(T, 1, 0, 5)) == Slice(Span(T, 1, 0, 5), live=True)
    assert next_slice(ownerships, A, Span(T, 1, 0, 5)) == Slice(Span(T, 1, 0, 5), live=False)


@given(st.lists(st.tuples(st.sampled_from([A, B]), st.integers(0, 20)), max_size=5), st.integers(1, 40))
def test_each_offset_is_written_live_by_exactly_one_run(changes: list[tuple[Name, int]], end: int) -> None:
    cuts = sorted(since for _, since in changes)
    ownerships = [ownership(A, 0), *(ownership(run, since) for (run, _), since in zip(changes, cuts, strict=True))]
    writers: dict[int, list[Name]] = {offset: [] for offset in range(end)}
    for run in (A, B):
        at = 0
        while at < end:
            piece = next_slice(ownerships, run, Span(T, 0, at, end))
            assert piece.span.start == at < piece.span.end <= end
            if piece.live:
                for offset in range(at, piece.span.end):
                    writers[offset].append(run)
            at = piece.span.end
    assert {len(runs) for runs in writers.values()} == {1}
