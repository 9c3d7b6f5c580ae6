"""Every event gives one freshness sample: the end of the first answer that counts it."""

from flows.measure.freshness import CountSeen, delays, percentile, summary


def test_each_event_waits_for_the_first_answer_that_counts_it() -> None:
    answers = [CountSeen(0.0, 0.1, 100), CountSeen(0.9, 1.0, 101), CountSeen(1.9, 2.0, 101), CountSeen(2.9, 3.0, 104)]
    assert delays([0.5, 0.75, 1.0, 2.5], answers) == [0.5, 2.25, 2.0, 0.5]


def test_an_answer_with_a_lower_count_is_reported() -> None:
    answers = [CountSeen(0, 0, 0), CountSeen(0, 1, 2), CountSeen(1, 2, 1), CountSeen(2, 3, 3)]
    freshness = summary([0.0, 0.0, 0.0], answers)
    assert (freshness.samples, freshness.went_back, freshness.polls, freshness.worst) == (3, 1, 4, 3.0)
    assert freshness.p50 == 1.0


def test_percentiles_are_measured_values() -> None:
    ordered = [float(n) for n in range(1, 201)]
    assert [percentile(ordered, p) for p in (50, 95, 99, 100)] == [100.0, 190.0, 198.0, 200.0]
    assert percentile([7.0], 50) == 7.0
