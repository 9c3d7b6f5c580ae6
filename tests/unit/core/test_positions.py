"""Positions of records, and their texts."""

from __future__ import annotations

import pytest

from core.identifiers import Name
from core.positions import LogPartition, RecordPosition


def test_a_position_is_written_with_slashes_and_read_again() -> None:
    position = RecordPosition(Name("trades"), 3, 41)
    assert (str(position), f"{position}") == ("trades/3/41", "trades/3/41")
    assert RecordPosition.parse("trades/3/41") == position == ("trades", 3, 41)
    assert str(LogPartition("trades", 3)) == "trades/3"
    assert LogPartition.parse("trades/3") == ("trades", 3)


@pytest.mark.parametrize(
    "text",
    ["trades", "trades/3", "trades/x/1", "a/b/1/2", "", "trades/01/5", "trades/1/-5", "trades/1/٣", "no topic/3/41"],
)
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no position of a record|is not a name"):
        RecordPosition.parse(text)
