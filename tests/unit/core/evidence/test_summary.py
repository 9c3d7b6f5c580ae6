"""Repetitions in short, and what was not measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evidence.measurement import Measurement
from core.evidence.questions import QUESTIONS
from core.evidence.summary import in_short, not_measured, summarize
from tests.support.examples.study_of_all_questions import study

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROW = Measurement("correction", "lambda", 4.0, AT, "whole history", "proof", size=10)


def test_repetitions_become_their_median_and_spread() -> None:
    values = (7.0, 1.0, 3.0, 8.0)
    (summary,) = summarize(replace(ROW, value=value, repetition=number) for number, value in enumerate(values, 1))
    assert (summary.median, summary.smallest, summary.largest, summary.repetitions) == (5.0, 1.0, 8.0, 4)
    assert (summary.question, summary.mode, summary.part, summary.size, summary.busy) == (
        "correction",
        "lambda",
        "proof",
        10,
        False,
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(ROW, mode="kappa"),
        replace(ROW, situation="one day of 10"),
        replace(ROW, part="swap"),
        replace(ROW, view="visits"),
        replace(ROW, size=20),
        replace(ROW, x=1.0),
        replace(ROW, busy=True),
        replace(ROW, question="rollback"),
    ],
)
def test_what_differs_in_more_than_the_repetition_is_not_mixed(other: Measurement) -> None:
    assert len(summarize([ROW, other])) == 2


@settings(deadline=None, max_examples=20)
@given(st.integers())
def test_the_order_of_the_rows_changes_no_number(seed: int) -> None:
    rows = study()
    assert set(summarize(Random(seed).sample(rows, len(rows)))) == set(summarize(rows))


def test_questions_sizes_and_places_on_an_axis_ascend() -> None:
    rows = [replace(ROW, question="freshness", x=x, size=size) for size in (20, 10) for x in (99.0, 50.0, 95.0)]
    assert [(row.question, row.size, row.x) for row in summarize([ROW, *rows])] == [
        ("freshness", 10, 50.0),
        ("freshness", 10, 95.0),
        ("freshness", 10, 99.0),
        ("freshness", 20, 50.0),
        ("freshness", 20, 95.0),
        ("freshness", 20, 99.0),
        ("correction", 10, None),
    ]


def test_a_series_is_one_row_of_all_its_moments() -> None:
    answers = [replace(ROW, question="answers", value=value, x=value * 10) for value in (1.0, 2.0, 6.0)]
    (summary,) = in_short(answers)
    assert (summary.x, summary.median, summary.largest, summary.repetitions) == (None, 2.0, 6.0, 3)
    assert len(summarize(answers)) == 3


def test_without_rows_every_question_is_missing_in_its_modes() -> None:
    missing = {each.question.id: each.modes for each in not_measured([])}
    assert list(missing) == [question.id for question in QUESTIONS]
    assert (missing["freshness"], missing["staleness"], missing["replay-cells"]) == (
        ("lambda", "kappa"),
        ("lambda",),
        ("kappa",),
    )


def test_a_missing_mode_is_named_and_a_row_of_both_modes_counts_for_each() -> None:
    kappa = [row for row in study() if (row.question, row.mode) != ("freshness", "lambda")]
    assert [(each.question.id, each.modes) for each in not_measured(kappa)] == [("freshness", ("lambda",))]
    both = [*kappa, replace(ROW, question="freshness", mode="")]
    assert not_measured(both) == []
