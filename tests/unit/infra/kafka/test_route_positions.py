"""The place of a copy is in its last header, whatever a producer wrote; a position comes back as it was committed."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from core.log_mark import LogMark
from infra.kafka.route_positions import Position, copied_offset, position

OWN = ("route_origin", b"orders/3/17")


@pytest.mark.parametrize(
    "forged",
    [b"\xff", b"orders/3/x", b"orders/3/99", "orders/3/\u0661".encode(), b"", None, b"orders/3/" + b"9" * 5000],
)
def test_a_header_that_came_with_the_record_is_ignored(forged: bytes | None) -> None:
    assert copied_offset([("a", b"\xff"), ("route_origin", forged), OWN], b"orders/3/") == 17
    assert copied_offset([("route_origin", forged), OWN], b"orders/1/") is None


@pytest.mark.parametrize(
    "last",
    [
        *(b"\xff", b"orders/3/", b"orders/3/ 7", b"orders/3/+7", b"orders/3/07", b"orders/3/7\n", b"orders/30/7"),
        *(b"orders/3/" + b"9" * 20, "orders/3/\u0661".encode(), b"", None),
    ],
)
def test_a_last_header_that_no_route_writes_names_no_record(last: bytes | None) -> None:
    assert copied_offset([OWN, ("route_origin", last)], b"orders/3/") is None
    assert copied_offset([("a", b"b")], b"orders/3/") is None
    assert copied_offset([], b"orders/3/") is None


def test_a_position_comes_back_as_it_was_committed() -> None:
    committed = Position(21, {"": 12, "errors": 2}, 3, mark=LogMark(19, "ab12"), gaps=7)
    assert position(TopicPartition("orders", 3, 21, committed.metadata), 0) == committed
    assert position(TopicPartition("orders", 3, -1001), 5) == Position(5, committed=False)


def test_a_position_of_an_older_program_has_no_gaps() -> None:
    metadata = '{"counts": {"": 19, "errors": 2}, "mark": null, "tenure": 3}'
    assert position(TopicPartition("orders", 3, 21, metadata), 0) == Position(21, {"": 19, "errors": 2}, 3)
    assert position(TopicPartition("orders", 3, 21, ""), 0) == Position(21)
