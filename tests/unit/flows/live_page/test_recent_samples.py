"""Rates, lag, waiting and marks over time, from literal snapshots; nothing grows without a bound."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.cut import Cut
from core.identifiers import Name
from flows.live_page import recent_samples
from flows.live_page.end_history import EndHistory
from flows.live_page.metrics import exposition
from flows.live_page.page_document import page_document
from flows.live_page.recent_samples import LiveSample, RecentSamples
from flows.live_page.snapshot import DefinedView, PartitionEnds, Snapshot
from infra.control.publications import Change
from tests.support.examples.live_snapshot import AT, RUN, VIEW, away, snapshot

START = AT.timestamp()


def test_a_rate_is_that_of_the_last_ten_seconds() -> None:
    samples = RecentSamples()
    for seconds, end in ((0, 0), (10, 1_000), (20, 1_100)):
        samples.add(snapshot(seconds, end=end, committed=end))
    assert samples.topic_rates() == {("trades", 0): 10.0}
    assert samples.run_rates() == {RUN: 10.0}
    assert samples.samples[-1] == LiveSample(START + 20, 10.0, 10.0, 0, 0.0)


def test_waiting_is_the_time_since_a_sample_first_had_a_record_that_is_not_shown() -> None:
    samples = RecentSamples()
    for seconds, end in ((0, 100), (2, 100), (4, 105), (6, 110), (8, 110)):
        samples.add(snapshot(seconds, end=end, committed=100))
    assert samples.waiting(snapshot(8, end=110, committed=100)) == {VIEW: 4.0}
    assert samples.waiting(snapshot(8, end=110, committed=107)) == {VIEW: 2.0}
    assert samples.waiting(snapshot(8, end=110, committed=110)) == {VIEW: 0.0}


def test_a_run_that_cannot_be_read_for_a_while_gives_no_rate_and_no_waiting() -> None:
    """Its manifest was damaged: that is no run which has read nothing, and no jump once it is repaired."""
    samples = RecentSamples()
    samples.add(snapshot(0, end=1_000_000, committed=1_000_000))
    damaged = snapshot(10, end=1_000_010, committed=1_000_010)
    assert damaged.runs.value
    unread = tuple(replace(live, last=None, is_read=False) for live in damaged.runs.value)
    damaged = replace(damaged, runs=replace(damaged.runs, value=unread))
    samples.add(damaged)
    assert samples.run_rates() == {}
    assert samples.waiting(damaged) == {VIEW: None}
    samples.add(snapshot(20, end=1_000_020, committed=1_000_020))
    assert samples.run_rates() == {}
    samples.add(snapshot(30, end=1_000_120, committed=1_000_120))
    assert samples.run_rates() == {RUN: 10.0}


def test_while_kafka_is_away_the_sample_has_no_numbers() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0))
    samples.add(away(snapshot(2), "log"))
    assert samples.samples[-1] == LiveSample(START + 2, None, None, None, None)
    assert samples.waiting(away(snapshot(2), "log")) == {VIEW: None}


def test_a_log_that_was_not_read_again_gives_no_second_sample() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0))
    assert samples.add(replace(snapshot(2), log=snapshot(0).log)) is None
    assert len(samples.samples) == 1


def test_a_topic_that_was_created_again_has_no_negative_rate() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0, end=500, committed=500))
    samples.add(snapshot(10, end=3, committed=3))
    assert samples.topic_rates() == {("trades", 0): 0.0}


def test_publications_and_checked_builds_are_marks_once() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0))
    samples.add(snapshot(2))
    assert [(mark.kind, mark.text) for mark in samples.marks] == [
        ("batch", "build b000002 checked"),
        ("publish", "publication 5: publish, lambda"),
    ]


def test_a_publication_that_is_finished_replaces_the_mark_of_its_intent() -> None:
    samples = RecentSamples()
    lake = snapshot().lake.value
    assert lake
    intent = (replace(lake.changes[0], state="intent"),)
    samples.add(replace(snapshot(0), lake=replace(snapshot(0).lake, value=replace(lake, changes=intent))))
    assert "publication 5: publish, lambda, intent" in [mark.text for mark in samples.marks]
    samples.add(snapshot(2))
    assert [mark.text for mark in samples.marks if mark.kind == "publish"] == ["publication 5: publish, lambda"]


def test_samples_and_marks_are_bounded() -> None:
    samples = RecentSamples()
    for second in range(recent_samples.SAMPLES + 5):
        samples.add(snapshot(second))
    assert (len(samples.samples), len(samples._ends.moments)) == (1_800, 300)
    assert samples.samples[0].at == START + 5
    lake = snapshot().lake.value
    assert lake
    many = tuple(Change(seq, "publish", "done", AT, "me", "", {}) for seq in range(1, 301))
    samples.add(replace(snapshot(), lake=replace(snapshot().lake, value=replace(lake, changes=many))))
    assert len(samples.marks) == 200


def set_clock(of: Snapshot, hours: int) -> Snapshot:
    """The snapshot as it is when the clock of the machine was set."""
    at = of.at + timedelta(hours=hours)
    return replace(of, at=at, log=replace(of.log, at=at))


def test_a_clock_that_was_set_back_stops_no_sample_and_no_rate() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0, end=1_000, committed=1_000))
    for seconds in range(2, 602, 2):
        samples.add(set_clock(snapshot(seconds, end=1_000 + 5 * seconds, committed=1_000), -1))
    last = samples.samples[-1]
    assert (len(samples.samples), last.at, last.appended, last.waiting) == (300, START - 3_600 + 600, 5.0, 598.0)
    assert [sample.at for sample in samples.samples] == sorted(sample.at for sample in samples.samples)


def test_a_clock_that_was_set_forward_makes_no_record_wait() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0, end=110, committed=100))
    samples.add(set_clock(snapshot(10, end=210, committed=100), 1))
    assert samples.topic_rates() == {("trades", 0): 10.0}
    assert samples.samples[-1] == LiveSample(START + 3_610, 10.0, 0.0, 110, 10.0)


def test_the_waiting_of_a_snapshot_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []
    seconds = EndHistory.seconds_unserved

    def counting(ends: EndHistory, served: Any) -> float:
        computed.append(served)
        return seconds(ends, served)

    monkeypatch.setattr(EndHistory, "seconds_unserved", counting)
    samples, now = RecentSamples(), snapshot(0)
    samples.add(now)
    page_document(now, samples)
    exposition(now, samples.waiting(now))
    assert len(computed) == 1
    page_document(snapshot(2), samples)
    assert len(computed) == 2


def test_the_waiting_of_a_thousand_views_costs_as_much_as_their_own_topics() -> None:
    """A view looks at its topic alone: at most nine of 300 moments, and the ends of one partition in each."""
    names = [Name(f"t{number}") for number in range(1_000)]
    samples, last = RecentSamples(), snapshot(0)
    for seconds in range(0, 600, 2):
        last = of_topics(snapshot(seconds), names, end=100 + seconds)
        samples.add(last)
    looked_at: list[int] = []

    class Counted(dict[Name, Any]):
        def get(self, *given: Any) -> Any:
            looked_at.append(1)
            return super().get(*given)

    for ends in samples._ends.moments:
        object.__setattr__(ends, "places", Counted(ends.places))
    waiting = samples.waiting(replace(last))
    assert (len(waiting), set(waiting.values())) == (1_000, {598.0})
    assert 1_000 <= len(looked_at) <= 10_000


def of_topics(of: Snapshot, topics: list[Name], *, end: int) -> Snapshot:
    """The snapshot with a view of each topic that a build serves up to offset 60."""
    assert of.status.value
    (served,) = of.status.value.views
    views = tuple(replace(served, view=topic, run=None, cut=Cut.of({topic: {0: 60}})) for topic in topics)
    return replace(
        of,
        status=replace(of.status, value=replace(of.status.value, views=views)),
        log=replace(of.log, value=tuple(PartitionEnds(topic, 0, 0, end) for topic in topics)),
        views=replace(of.views, value=tuple(DefinedView(topic, (topic,), "") for topic in topics)),
    )


def test_a_view_without_a_file_is_left_out() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0))
    other = replace(snapshot(0), views=replace(snapshot(0).views, value=()))
    assert samples.waiting(other) == {}
    assert Name("by_day") in samples.waiting(snapshot(0))
