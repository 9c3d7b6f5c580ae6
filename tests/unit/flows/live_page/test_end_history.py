"""The ends of the log and of the runs: what is kept of them is bounded, and reaches back ten minutes all the same."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest

from core.identifiers import Name
from flows.live_page import end_history
from flows.live_page.end_history import ByTopic, EndHistory
from flows.live_page.snapshot import PartitionEnds

TOPIC, RUN = Name("trades"), Name("r000001")
MIB = 2**20


def log(partitions: int, end: int) -> list[PartitionEnds]:
    return [PartitionEnds(TOPIC, partition, 0, end) for partition in range(partitions)]


def reached(partitions: int, end: int) -> dict[Name, ByTopic]:
    return {RUN: {TOPIC: dict.fromkeys(range(partitions), end)}}


def test_ten_minutes_of_a_thousand_partitions_and_a_run_take_few_mebibytes() -> None:
    """Eight bytes for each partition and moment; of the runs, the moments of the last ten seconds."""
    history, ends = EndHistory(), log(1_000, 1_000)
    tracemalloc.start()
    for second in range(0, 640, 2):
        history.add(float(second), ends, reached(1_000, second))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(history.moments), sum(bool(moment.runs) for moment in history.moments)) == (300, 6)
    assert taken < 4 * MIB, f"{taken / MIB:.1f} MiB"
    assert history.run_rates() == {RUN: 1_000.0}


def test_of_many_partitions_few_moments_are_kept_and_they_reach_back_ten_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For a hundred offsets a log of 100 partitions has the fewest: those that are older than a rate are 20 s apart."""
    monkeypatch.setattr(end_history, "_MOST_OFFSETS", 100)
    history, ends = EndHistory(), log(100, 5)
    for second in range(0, 1_200, 2):
        history.add(float(second), ends, {})
    clocks = [moment.clock for moment in history.moments]
    assert len(clocks) <= 40
    assert clocks[-6:] == [1_188.0, 1_190.0, 1_192.0, 1_194.0, 1_196.0, 1_198.0]
    assert {later - earlier for earlier, later in pairwise(clocks[:-6])} == {20.0}
    assert history.seconds_unserved({TOPIC: dict.fromkeys(range(100), 5)}) == 0.0
    assert 600.0 <= history.seconds_unserved({TOPIC: {}}) <= 700.0


def test_topics_that_did_not_change_share_their_places() -> None:
    history = EndHistory()
    for second in range(3):
        history.add(float(second), [*log(2, second), PartitionEnds(Name("quotes"), 0, 0, 9)], {})
    assert history.moments[0].places is history.moments[2].places
    assert history.moments[2].places == {"trades": range(2), "quotes": range(2, 3)}
    assert history.partition_rates() == {("trades", 0): 1.0, ("trades", 1): 1.0, ("quotes", 0): 0.0}


def test_a_partition_that_is_new_has_no_rate_yet_and_a_topic_that_is_gone_has_none() -> None:
    history = EndHistory()
    history.add(0.0, [*log(1, 7), PartitionEnds(Name("quotes"), 0, 0, 9)], {})
    history.add(2.0, log(2, 9), {})
    assert history.partition_rates() == {("trades", 0): 1.0, ("trades", 1): 0.0}
    assert history.moments[-1].end(Name("quotes"), 0) is None
