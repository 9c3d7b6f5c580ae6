"""The fit returns the numbers that were planted, names what is missing, and states its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.errors import Refused
from core.evidence.coefficients import Coefficients, Line
from core.evidence.fit import BY_MODE, PREDICTED, SHARED, fit, predicted_and_measured
from core.evidence.measurement import Measurement
from core.evidence.study_rows import Source
from tests.support.examples.planted_study import AT, COEFFICIENTS, SIZES, planted

MAY_BE_ABSENT = {"cpu late", "correction read whole history lambda", "correction read whole history kappa"}
SOURCES = [*SHARED.values(), *(source for sources in BY_MODE.values() for source in sources.values())]


def flat(coefficients: Coefficients) -> dict[str, float]:
    """Every number, by its path."""
    numbers: dict[str, float] = {}

    def visit(path: str, value: object) -> None:
        if isinstance(value, int | float):
            numbers[path] = value
            return
        parts = value if isinstance(value, dict) else vars(value)
        for name, part in parts.items():
            visit(f"{path}.{name}", part)

    visit("", coefficients)
    return numbers


def changed(rows: list[Measurement], which: Callable[[Measurement], bool], factor: float) -> list[Measurement]:
    return [replace(row, value=row.value * factor) if which(row) else row for row in rows]


def test_planted_lines_come_back() -> None:
    assert flat(fit(planted(), cores=2)) == pytest.approx(flat(COEFFICIENTS))


def test_on_more_cores_the_same_rates_are_less_for_each() -> None:
    coefficients = fit(planted(), cores=4)
    assert coefficients.replay_rate == pytest.approx(62_500)
    assert coefficients.modes["kappa"].proof_seconds.per_million == pytest.approx(8)


def test_one_size_is_refused() -> None:
    with pytest.raises(Refused, match="all its logs have 10,000,000 records"):
        fit(planted(sizes=[10_000_000]))


def test_late_events_cost_what_was_measured_above_others() -> None:
    late = [Measurement("cpu", "kappa", value, AT, part="late") for value in (30.0, 50.0)]
    assert fit([*planted(), *late]).late_cpu == 40


def test_a_repetition_far_off_does_not_move_the_median() -> None:
    off = changed(planted(), lambda row: row.repetition == 2, 10)
    assert flat(fit(off)) == pytest.approx(flat(COEFFICIENTS))


def test_rows_of_a_busy_machine_count_only_alone() -> None:
    busy = [replace(row, busy=True, value=5 * row.value) for row in planted()]
    assert flat(fit([*planted(), *busy, *busy])) == pytest.approx(flat(COEFFICIENTS))
    assert fit(busy).modes["kappa"].live_cores == 2


@pytest.mark.parametrize("source", [source for source in SOURCES if str(source) not in MAY_BE_ABSENT], ids=str)
def test_what_was_not_measured_is_named_with_its_section(source: Source) -> None:
    with pytest.raises(Refused) as error:
        fit([row for row in planted() if not source.has(row)])
    assert str(source) in error.value.what
    section = {"freshness": "freshness", "cpu-live": "freshness", "correction": "correction"}
    assert error.value.fix == f"measure it: `lk study {section.get(source.question, 'resources')}`"


def test_landing_may_take_no_time_in_a_correction() -> None:
    without = [row for row in planted() if (row.question, row.part) != ("correction", "read")]
    assert [mode.fixed_seconds["read"] for mode in fit(without).modes.values()] == [0, 0]


def test_all_missing_sections_are_named_once() -> None:
    with pytest.raises(Refused) as error:
        fit([])
    assert error.value.fix == "measure it: `lk study resources`, `lk study freshness`, `lk study correction`"


def test_a_time_that_does_not_grow_with_the_events_is_refused() -> None:
    flat_times = [
        replace(row, value=row.size / 7.0) if (row.question, row.part) == ("rate", "replay") else row
        for row in planted()
    ]
    with pytest.raises(Refused, match="rate replay does not grow with the events"):
        fit(flat_times)


def test_planted_lines_predict_the_size_that_was_not_fitted() -> None:
    predictions = predicted_and_measured(planted(), SIZES[:2])
    assert {row.what: row.predicted for row in predictions} == pytest.approx(
        {
            "time of a full build": 102,  # 2 + 100 × 1
            "time of a replay": 403,  # 3 + 100 × 4
            "CPU of a full build": 240,  # 40 + 100 × 2
            "CPU of a replay": 760,  # 60 + 100 × 7
            "correction, Lambda": 146,  # 45 + 100 × 1.01
            "correction, Kappa": 638,  # 38 + 100 × 6
            "disk: log": 10_000.5,
            "disk: archive": 5_000,
            "disk: builds": 1_001,
            "disk: partial rows": 2_002,
        }
    )
    assert {row.size for row in predictions} == {100_000_000}
    assert {round(row.error, 9) for row in predictions} == {0}
    assert set(PREDICTED) == {row.what for row in predictions}


def test_a_planted_outlier_raises_the_stated_error() -> None:
    slower = changed(planted(), lambda row: (row.question, row.part, row.size) == ("cpu", "build", SIZES[2]), 1.5)
    errors = {row.what: row.error for row in predicted_and_measured(slower, SIZES[:2])}
    assert errors["CPU of a full build"] == pytest.approx(1 / 1.5 - 1)
    assert errors["CPU of a replay"] == pytest.approx(0)


def test_a_quantity_of_one_kind_of_sizes_is_not_predicted() -> None:
    rows = [row for row in planted() if (row.question, row.size) != ("disk", SIZES[2])]
    predicted = {row.what for row in predicted_and_measured(rows, SIZES[:2])}
    assert predicted == {what for what in PREDICTED if not what.startswith("disk")}
    assert predicted_and_measured(planted(), []) == []


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ({1: 12.0, 10: 30.0}, Line(10, 2)),
        ({1: 1.0, 2: 4.0}, Line(0, 1.8)),  # a negative fixed part: through zero, (1 × 1 + 2 × 4) ÷ (1 + 4)
        ({1: 5.0, 2: 3.0}, Line(4, 0)),  # it does not grow
        ({10: 30.0}, Line(0, 3)),
    ],
)
def test_no_part_of_a_line_is_negative(points: dict[float, float], line: Line) -> None:
    fitted = Line.through(points)
    assert (fitted.fixed, fitted.per_million) == pytest.approx((line.fixed, line.per_million))


def test_a_row_without_a_mode_counts_for_both() -> None:
    without = [row for row in planted() if row.question != "cpu-live"]
    live = fit([*without, Measurement("cpu-live", "", 0.9, AT)])
    assert [measured.live_cores for measured in live.modes.values()] == [0.9, 0.9]
    with pytest.raises(Refused, match="cpu-live lambda"):
        fit([*without, Measurement("cpu-live", "kappa", 0.9, AT)])
