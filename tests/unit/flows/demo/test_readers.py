"""Readers' answers: each must be the count at the end of an epoch, and every query is accounted for."""

from __future__ import annotations

import threading

from flows.demo.readers import Period, ReaderAccount, ReaderAnswer, Readers, TimelineAnswer, account, timeline

COUNTS = frozenset({0, 10, 25, 40})
ANSWERS = [
    ReaderAnswer(0.0, 0.2, "lambda", 10),
    ReaderAnswer(0.5, 0.9, "lambda", 10),
    ReaderAnswer(1.0, 1.1, "lambda", 25),
    ReaderAnswer(1.5, 3.0, "kappa", 40),
]


def test_an_account_has_answers_by_mode_query_times_and_the_longest_pause() -> None:
    reader_account = account(ANSWERS, [], COUNTS, [Period()])
    assert (reader_account.answers, reader_account.modes, reader_account.errors) == (4, {"kappa": 1, "lambda": 3}, ())
    assert (round(reader_account.pause, 3), round(reader_account.p50, 3), round(reader_account.slowest, 3)) == (
        1.9,
        0.2,
        1.5,
    )


def test_an_account_without_answers_has_only_the_failures() -> None:
    assert account([], ["no route"], COUNTS, [Period()]) == ReaderAccount(0, {}, ("no route",), 0.0, 0.0, 0.0)


def test_a_count_at_which_no_epoch_ends_is_an_error() -> None:
    reader_account = account([*ANSWERS, ReaderAnswer(3.0, 3.1, "kappa", 41)], [], COUNTS, [])
    assert reader_account.errors == ("no epoch ends at the count 41",)


def test_a_count_that_goes_back_within_a_period_is_an_error() -> None:
    answers = [*ANSWERS, ReaderAnswer(3.1, 3.2, "kappa", 25)]
    assert account(answers, [], COUNTS, [Period()]).errors == ("the count went back from 40 to 25",)
    assert account(answers, [], COUNTS, [Period(ended=3.0), Period(began=3.1)]).errors == ()


def test_concurrent_queries_may_be_answered_in_any_order() -> None:
    answers = [ReaderAnswer(0.0, 0.9, "lambda", 25), ReaderAnswer(0.5, 1.0, "lambda", 10)]
    assert account(answers, [], COUNTS, [Period()]).errors == ()


def test_an_answer_with_the_mode_before_a_change_is_an_error_after_the_change() -> None:
    answers = [*ANSWERS, ReaderAnswer(3.1, 3.2, "lambda", 40)]
    assert account(answers, [], COUNTS, [Period(began=3.0, mode="kappa")]).errors == (
        "lambda answered while kappa served",
    )
    assert account(answers, [], COUNTS, [Period(began=3.15, mode="kappa")]).errors == ()


def test_slow_answers_delay_the_next_query_and_pile_up_no_others() -> None:
    stop, release, started = threading.Event(), threading.Event(), threading.Semaphore(0)

    def query() -> tuple[str, int]:
        started.release()
        assert release.wait(30)
        return "lambda", 1

    readers = Readers(query)
    readers.hurry(60)
    runner = threading.Thread(target=readers.run, args=(stop,))
    runner.start()
    for _ in range(4):
        assert started.acquire(timeout=30)
    assert not started.acquire(timeout=0.5)  # five queries would be due in half a second
    stop.set()
    release.set()
    runner.join(30)
    assert len(readers.answers) == 5
    last = max(readers.answers, key=lambda answer: answer.due)
    assert last.arrived - last.due > 0.3


def test_readers_query_until_they_are_stopped_and_record_failures_separately() -> None:
    stop, numbers = threading.Event(), iter(range(1_000))

    def query() -> tuple[str, int]:
        number = next(numbers)
        if number == 1:
            raise ValueError("no answer")
        if number == 2:
            stop.set()
        return "lambda", number

    readers = Readers(query)
    readers.hurry(60)
    readers.run(stop)
    assert readers.failures == ["ValueError: no answer"]
    assert [(answer.mode, answer.count) for answer in readers.answers][:2] == [("lambda", 0), ("lambda", 2)]


def test_a_timeline_has_the_answers_near_a_change_by_arrival() -> None:
    near = timeline(list(reversed(ANSWERS)), change=1.0, around=0.8)
    assert [(round(answer.since, 3), round(answer.seconds, 3), answer.mode) for answer in near] == [
        (-0.8, 0.2, "lambda"),
        (-0.1, 0.4, "lambda"),
        (0.1, 0.1, "lambda"),
    ]
    assert timeline(ANSWERS, change=1.0, around=2.0)[-1] == TimelineAnswer(2.0, 1.5, "kappa")
