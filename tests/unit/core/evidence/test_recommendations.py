"""The five cases: planted numbers decide them, a swap of the modes turns them round, an overlap leaves them open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.evidence.measurement import Measurement
from core.evidence.recommendations import Recommendation, recommend
from tests.support.examples.study_of_all_questions import study, swapped

AT = datetime(2026, 1, 1, tzinfo=UTC)
Values = tuple[float, ...]


def rows(question: str, lambda_: Values, kappa: Values, **fields: Any) -> list[Measurement]:
    """A row for each value, one repetition after another."""
    template = replace(Measurement(question, "", 0.0, AT, size=1_000_000), **fields)
    return [
        replace(template, mode=mode, value=value, repetition=number)
        for mode, values in (("lambda", lambda_), ("kappa", kappa))
        for number, value in enumerate(values, 1)
    ]


def correction(lambda_: Values, kappa: Values, situation: str = "whole history") -> list[Measurement]:
    return rows("correction", lambda_, kappa, situation=situation, part="in all")


def answer(case: str, measurements: list[Measurement]) -> Recommendation:
    return next(each for each in recommend(measurements) if each.case.id == case)


def without(question: str, mode: str) -> list[Measurement]:
    return [row for row in study() if (row.question, row.mode) != (question, mode)]


def test_the_planted_study_decides_every_case() -> None:
    assert [(each.case.id, each.mode) for each in recommend(study())] == [
        ("append-only", "kappa"),
        ("joins", "lambda"),
        ("rules-change", "lambda"),
        ("short-retention", "lambda"),
        ("late-corrections", "lambda"),
    ]


def test_a_swap_of_the_modes_turns_the_answers_round() -> None:
    changed = {each.case.id: each.mode for each in recommend(swapped(study()))}
    assert (changed["rules-change"], changed["late-corrections"]) == ("kappa", "kappa")
    assert [case for case, mode in changed.items() if mode == answer(case, study()).mode] == []


@pytest.mark.parametrize(
    ("case", "planted"),
    [
        ("append-only", lambda lambda_, kappa: rows("freshness", lambda_, kappa, situation="steady", x=95.0)),
        (
            "joins",
            lambda lambda_, kappa: rows("freshness", lambda_, kappa, situation="steady", view="order_payments", x=95.0),
        ),
        ("rules-change", lambda lambda_, kappa: correction(lambda_, kappa)),
        (
            "short-retention",
            lambda lambda_, kappa: [
                *rows("replayable-history", (), (0.99,) * 3),
                *rows("disk", lambda_, kappa, situation="steady", part="builds"),
            ],
        ),
        (
            "late-corrections",
            lambda lambda_, kappa: [
                *rows("late-counted", (1.0,) * 3, (1.0,) * 3, x=3_600.0),
                *correction(lambda_, kappa, "one day of 10"),
            ],
        ),
    ],
)
def test_a_swap_of_the_deciding_rows_turns_the_answer_round(
    case: str, planted: Callable[[Values, Values], list[Measurement]]
) -> None:
    low, high = (1.0, 1.1, 1.2), (2.0, 2.1, 2.2)
    assert (answer(case, planted(low, high)).mode, answer(case, planted(high, low)).mode) == ("lambda", "kappa")
    assert answer(case, planted((1.0, 1.1, 2.1), high)).mode == ""


def test_the_sentence_has_the_numbers_of_both_modes() -> None:
    decided = answer("rules-change", correction((40.0, 41.0, 42.0), (80.0, 82.0, 90.0)))
    assert decided.sentence == (
        "Lambda: the time from a changed rule until corrected history is served is 41 s in Lambda against 82 s in "
        "Kappa."
    )
    assert decided.deciding is decided.comparisons[0]


def test_overlapping_spreads_give_no_clear_difference() -> None:
    times = correction((40.0, 41.0, 60.0), (59.0, 82.0, 90.0))
    cpu = [
        *rows("cpu", (3.0, 4.0, 5.0), (), part="build"),
        *rows("cpu", (1.0, 1.0, 1.0), (), part="gate"),
        *rows("cpu", (), (2.0, 2.5, 3.0), part="replay"),
        *rows("cpu", (), (2.0, 2.5, 3.5), part="proof"),
    ]
    open_ = answer("rules-change", times + cpu)
    assert (open_.mode, open_.answer, open_.deciding) == ("", "No clear difference", None)
    assert "41 s in Lambda and 82 s in Kappa" in open_.reason
    assert "5 s per million in Lambda and 5 s per million in Kappa" in open_.reason


def test_spreads_apart_by_less_than_a_tenth_give_no_clear_difference() -> None:
    first = answer("rules-change", correction((100.0, 100.5, 101.0), (108.0, 109.0, 110.0)))
    assert first.comparisons[0].better == ""
    assert answer("rules-change", correction((100.0, 100.5, 101.0), (111.0, 112.0, 113.0))).mode == "lambda"


def test_without_rows_nothing_is_decided() -> None:
    for each in recommend([]):
        assert (each.mode, each.answer) == ("", "Not decided")
        assert each.sentence.startswith("Not decided: not measured")


def test_a_case_whose_first_criterion_lacks_a_mode_is_not_decided_by_the_second() -> None:
    missing = answer("append-only", without("freshness", "kappa"))
    assert missing.sentence == (
        "Not decided: not measured 3 times in Kappa: the 95th percentile of freshness (`lk study freshness`)."
    )


def test_two_repetitions_are_too_few() -> None:
    assert answer("rules-change", correction((40.0, 41.0), (80.0, 82.0))).answer == "Not decided"


def test_the_largest_size_that_both_modes_have_counts() -> None:
    small = correction((10.0, 10.0, 10.0), (1.0, 1.0, 1.0))
    large = [replace(row, size=9_000_000) for row in correction((20.0, 20.0, 20.0), (40.0, 40.0, 40.0))]
    only_lambda = [replace(row, size=99_000_000) for row in correction((70.0, 70.0, 70.0), ())]
    assert "20 s in Lambda against 40 s in Kappa" in answer("rules-change", small + large + only_lambda).reason


def test_values_of_a_busy_machine_count_only_alone() -> None:
    quiet = correction((40.0, 41.0, 42.0), (80.0, 82.0, 90.0))
    busy = [replace(row, busy=True) for row in correction((900.0, 900.0, 900.0), (80.0, 82.0, 90.0))]
    assert answer("rules-change", quiet + busy).mode == answer("rules-change", busy + quiet).mode == "lambda"
    alone = answer("rules-change", busy)
    side = alone.comparisons[0].sides["lambda"]
    assert (alone.mode, side is not None and side.busy) == ("kappa", True)


def test_a_stored_total_stands_for_its_parts_and_parts_add_up_without_it() -> None:
    parts = [
        *rows("correction", (1.0, 2.0, 3.0), (10.0, 10.0, 10.0), situation="whole history", part="compute"),
        *rows("correction", (5.0, 6.0, 7.0), (10.0, 10.0, 10.0), situation="whole history", part="proof"),
    ]
    added = answer("rules-change", parts).comparisons[0].sides["lambda"]
    assert added is not None
    assert (added.median, added.smallest, added.largest) == (8.0, 6.0, 10.0)
    stored = answer("rules-change", parts + correction((7.5, 7.5, 7.5), (21.0, 21.0, 21.0))).comparisons[0]
    side = stored.sides["lambda"]
    assert side is not None
    assert (side.median, len(side.terms)) == (7.5, 1)


def test_lambda_needs_no_log_for_a_long_history_and_kappa_does() -> None:
    disk = [
        *rows("disk", (100.0,) * 3, (100.0,) * 3, situation="steady", part="log"),
        *rows("disk", (70.0,) * 3, (10.0,) * 3, situation="steady", part="archive"),
        *rows("disk", (170.0,) * 3, (110.0,) * 3, situation="steady", part="in all"),
    ]
    whole = rows("replayable-history", (), (0.99, 0.99, 0.99))
    sides = answer("short-retention", disk + whole).comparisons[1].sides
    assert {mode: side and side.median for mode, side in sides.items()} == {"lambda": 70.0, "kappa": 110.0}


def test_a_replay_that_loses_much_of_the_retention_decides_for_lambda() -> None:
    slow = answer("short-retention", rows("replayable-history", (), (0.4, 0.5, 0.5)))
    assert slow.sentence == (
        "Lambda: the share of the retention that can be computed again is 1 in Lambda against 0.5 in Kappa."
    )


def test_what_favours_the_other_mode_is_said() -> None:
    cpu = [
        *rows("cpu", (50.0,) * 3, (), part="build"),
        *rows("cpu", (1.0,) * 3, (), part="gate"),
        *rows("cpu", (), (2.0,) * 3, part="replay"),
        *rows("cpu", (), (2.0,) * 3, part="proof"),
    ]
    decided = answer("rules-change", correction((40.0,) * 3, (80.0,) * 3) + cpu)
    assert decided.mode == "lambda"
    assert decided.against == (
        "the CPU time of computing events again, with the proof is 4 s per million in Kappa against 51 s per million "
        "in Lambda",
    )
