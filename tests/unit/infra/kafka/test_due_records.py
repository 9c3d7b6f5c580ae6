"""Records are read from their source a few at a time, however large they are."""

import threading
from collections.abc import Iterator

from confluent_kafka import Producer

from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import due_records


def batch_sizes(value: bytes, count: int) -> list[tuple[int, int]]:
    """Records of each batch, and how many were read from the source by then."""
    read = 0

    def source() -> Iterator[OutgoingRecord]:
        nonlocal read
        for _ in range(count):
            read += 1
            yield OutgoingRecord(None, value)

    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    batches = due_records(producer, source(), None, None, lambda: None, threading.Event())
    return [(len(batch), read) for batch in batches]


def test_large_records_are_not_read_before_those_ahead_of_them_are_sent() -> None:
    assert batch_sizes(b"x" * 2_000_000, 3) == [(1, 1), (1, 2), (1, 3)]


def test_small_records_are_sent_many_at_a_time() -> None:
    assert batch_sizes(b"x" * 100, 600) == [(256, 256), (256, 512), (88, 600)]
