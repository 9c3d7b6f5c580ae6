"""Numbers as people read them."""

from __future__ import annotations

import pytest

from core.evidence.quantity import number, quantity, trimmed


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "records", "0"),
        (3.0, "s", "3"),
        (0.77, "s", "0.770"),
        (41.46, "s", "41.5"),
        (99.97, "s", "100"),
        (123.4, "s", "123"),
        (999.7, "s", "1,000"),
        (1_234_567.8, "records/s", "1,234,568"),
        (1.0, "share", "1"),
        (0.9997, "share of the retention", "0.9997"),
        (0.9999999, "share", "0.99999"),
        (0.5, "share", "0.5"),
        (0.98765, "share", "0.988"),
        (0.0001234, "share", "0.000123"),
    ],
)
def test_three_digits_and_no_share_below_one_is_written_as_one(value: float, unit: str, text: str) -> None:
    assert number(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (0.36, "0.36"), (1.2, "1.2"), (10.04, "10"), (100.0, "100"), (999.7, "1,000"), (0.0001, "0.0001")],
)
def test_an_input_has_only_the_digits_that_it_needs(value: float, text: str) -> None:
    assert trimmed(value) == text


def test_a_share_has_no_unit() -> None:
    assert (quantity(0.5, "share of the retention"), quantity(2.5, "s")) == ("0.5", "2.50 s")
