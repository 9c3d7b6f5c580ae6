"""The readers' record: every answer must be the truth of one moment, and every question is accounted for."""

from __future__ import annotations

import threading

from flows.demo.readers import ReaderAccount, ReaderAnswer, Readers, Stretch, account

TRUTHS = frozenset({0, 10, 25, 40})
ANSWERS = [
    ReaderAnswer(0.0, 0.2, "lambda", 10),
    ReaderAnswer(0.5, 0.9, "lambda", 10),
    ReaderAnswer(1.0, 1.1, "lambda", 25),
    ReaderAnswer(1.5, 3.0, "kappa", 40),
]


def test_an_account_tells_answers_by_mode_times_and_the_longest_pause() -> None:
    found = account(ANSWERS, [], TRUTHS, [Stretch()])
    assert (found.answers, found.modes, found.errors) == (4, {"kappa": 1, "lambda": 3}, ())
    assert (round(found.pause, 3), round(found.p50, 3), round(found.slowest, 3)) == (1.9, 0.2, 1.5)


def test_without_answers_there_is_nothing_to_tell() -> None:
    assert account([], ["no route"], TRUTHS, [Stretch()]) == ReaderAccount(0, {}, ("no route",), 0.0, 0.0, 0.0)


def test_a_count_that_no_epoch_ended_at_is_an_error() -> None:
    found = account([*ANSWERS, ReaderAnswer(3.0, 3.1, "kappa", 41)], [], TRUTHS, [])
    assert found.errors == ("41 is the count of no single moment",)


def test_an_answer_smaller_than_one_that_came_before_it_is_an_error_within_a_stretch() -> None:
    answers = [*ANSWERS, ReaderAnswer(3.1, 3.2, "kappa", 25)]
    assert account(answers, [], TRUTHS, [Stretch()]).errors == ("25 was answered after 40",)
    assert account(answers, [], TRUTHS, [Stretch(ended=3.0), Stretch(began=3.1)]).errors == ()


def test_questions_that_were_under_way_together_may_be_answered_in_any_order() -> None:
    answers = [ReaderAnswer(0.0, 0.9, "lambda", 25), ReaderAnswer(0.5, 1.0, "lambda", 10)]
    assert account(answers, [], TRUTHS, [Stretch()]).errors == ()


def test_an_answer_of_the_mode_before_a_change_is_an_error_once_the_change_was_done() -> None:
    answers = [*ANSWERS, ReaderAnswer(3.1, 3.2, "lambda", 40)]
    assert account(answers, [], TRUTHS, [Stretch(began=3.0, mode="kappa")]).errors == (
        "lambda answered while kappa served",
    )
    assert account(answers, [], TRUTHS, [Stretch(began=3.15, mode="kappa")]).errors == ()


def test_readers_ask_until_they_are_stopped_and_keep_failures_apart() -> None:
    stop, asked = threading.Event(), iter(range(1_000))

    def ask() -> tuple[str, int]:
        number = next(asked)
        if number == 1:
            raise ValueError("no answer")
        if number == 2:
            stop.set()
        return "lambda", number

    readers = Readers(ask)
    readers.hurry(60)
    readers.run(stop)
    assert readers.failures == ["ValueError: no answer"]
    assert [(one.mode, one.count) for one in readers.answers][:2] == [("lambda", 0), ("lambda", 2)]
