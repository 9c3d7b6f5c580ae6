"""The settling curve: answers now against the final answer, by the age of the windows."""

from __future__ import annotations

import math

from core.evidence.settling import WindowAnswer, settled_after, settling_curve

# Two windows end at 100 and at 110 s; both have 10 trades in the end.
FINAL = {100.0: 10, 110.0: 10}
ANSWERS = [
    WindowAnswer(100.5, {100.0: 6}),
    WindowAnswer(101.5, {100.0: 8}),
    WindowAnswer(111.0, {100.0: 10, 110.0: 9}),
    WindowAnswer(115.0, {100.0: 10, 110.0: 10}),
]


def test_the_curve_adds_up_the_windows_of_each_age() -> None:
    """Ages of the first window: 0.5, 1.5, 11, 15; of the second: 1, 5."""
    assert settling_curve(ANSWERS, FINAL, (0.0, 1.0, 5.0, 10.0)) == {
        0.0: 6 / 10,
        1.0: (8 + 9) / 20,
        5.0: 10 / 10,
        10.0: (10 + 10) / 20,
    }


def test_a_window_that_no_answer_shows_counts_zero() -> None:
    assert settling_curve([WindowAnswer(102.0, {})], {100.0: 4}, (0.0,)) == {0.0: 0.0}


def test_an_age_without_an_answer_is_left_out() -> None:
    assert settling_curve(ANSWERS[:1], {100.0: 10}, (0.0, 60.0)) == {0.0: 0.6}


def test_a_window_has_settled_when_its_answers_stay_final() -> None:
    """The first window settles at an age of 11 s, the second at 5 s."""
    assert settled_after(ANSWERS, FINAL, 50) == 5.0
    assert settled_after(ANSWERS, FINAL, 100) == 11.0


def test_a_window_whose_answer_left_the_final_count_again_settles_later() -> None:
    wavering = [WindowAnswer(101, {100.0: 10}), WindowAnswer(102, {100.0: 11}), WindowAnswer(103, {100.0: 10})]
    assert settled_after(wavering, {100.0: 10}, 100) == 3.0


def test_a_window_that_never_got_its_final_count_has_not_settled() -> None:
    assert settled_after(ANSWERS[:2], {100.0: 10}, 50) == math.inf


def test_without_windows_nothing_has_settled() -> None:
    assert settled_after(ANSWERS, {}, 50) == math.inf
