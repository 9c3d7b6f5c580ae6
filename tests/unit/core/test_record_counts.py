"""Whether counted records account for the offsets that they span, and what collected counts add up to."""

import pytest

from core.compute.partial_rows import totals_of
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals, account_for


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


def test_collected_counts_of_several_topics_are_added_up_by_view() -> None:
    rows = [
        {"_topic": "t", "_partition": 0, "records": 10, "decoded": 9, "quarantined": 1, "rows_v": 18, "rows_w": 9},
        {"_topic": "t", "_partition": 1, "records": 5, "decoded": 5, "quarantined": 0, "rows_v": 10, "rows_w": 5},
        {"_topic": "u", "_partition": 0, "records": 3, "decoded": 1, "quarantined": 2, "rows_w": 1},
    ]
    assert totals_of(rows, ["v", "w", "x"]) == Totals(
        {"t/0": RecordCounts(10, 9, 1), "t/1": RecordCounts(5, 5, 0), "u/0": RecordCounts(3, 1, 2)},
        {Name("v"): 28, Name("w"): 15, Name("x"): 0},
    )
