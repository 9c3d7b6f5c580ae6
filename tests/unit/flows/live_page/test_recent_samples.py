"""Rates, lag, waiting and marks over time, from literal snapshots; nothing grows without a bound."""

from __future__ import annotations

from dataclasses import replace

from core.identifiers import Name
from flows.live_page import recent_samples
from flows.live_page.recent_samples import LiveSample, RecentSamples
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
    assert (len(samples.samples), len(samples._ends)) == (1_800, 300)
    assert samples.samples[0].at == START + 5
    lake = snapshot().lake.value
    assert lake
    many = tuple(Change(seq, "publish", "done", AT, "me", "", {}) for seq in range(1, 301))
    samples.add(replace(snapshot(), lake=replace(snapshot().lake, value=replace(lake, changes=many))))
    assert len(samples.marks) == 200


def test_a_view_without_a_file_is_left_out() -> None:
    samples = RecentSamples()
    samples.add(snapshot(0))
    other = replace(snapshot(0), views=replace(snapshot(0).views, value=()))
    assert samples.waiting(other) == {}
    assert Name("by_day") in samples.waiting(snapshot(0))
