"""Whether counted records account for the offsets that they span."""

import pytest

from core.record_counts import account_for


@pytest.mark.parametrize(
    ("records", "without_gaps", "with_gaps"), [(0, False, True), (9, False, True), (10, True, True), (11, False, False)]
)
def test_ten_offsets_have_ten_records_and_with_gaps_at_most_ten(
    records: int, without_gaps: bool, with_gaps: bool
) -> None:
    assert account_for(records, 10, gaps=False) is without_gaps
    assert account_for(records, 10, gaps=True) is with_gaps


def test_no_offsets_have_no_records() -> None:
    assert account_for(0, 0, gaps=False)
    assert not account_for(1, 0, gaps=True)
