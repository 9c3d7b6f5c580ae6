"""Every event gives one freshness sample: the end of the first answer that counts it."""

from flows.measure.freshness import CountSeen, delays, percentile, summary


def test_each_event_waits_for_the_first_answer_that_counts_it() -> None:
    answers = [CountSeen(0.0, 0.1, 100), CountSeen(0.9, 1.0, 101), CountSeen(1.9, 2.0, 101), CountSeen(2.9, 3.0, 104)]
    assert delays([0.5, 0.75, 1.0, 2.5], answers) == [0.5, 2.25, 2.0, 0.5]


def test_an_answer_that_goes_back_is_counted_and_hides_nothing() -> None:
    answers = [CountSeen(0, 0, 0), CountSeen(0, 1, 2), CountSeen(1, 2, 1), CountSeen(2, 3, 3)]
    found = summary([0.0, 0.0, 0.0], answers)
    assert (found.samples, found.went_back, found.polls, found.worst) == (3, 1, 4, 3.0)
    assert found.p50 == 1.0


def test_percentiles_are_values_that_were_seen() -> None:
    ordered = [float(n) for n in range(1, 201)]
    assert [percentile(ordered, p) for p in (50, 95, 99, 100)] == [100.0, 190.0, 198.0, 200.0]
    assert percentile([7.0], 50) == 7.0
