"""Sends records with an idempotent producer and acks=all, at an open-loop rate, and counts the acknowledgements."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any, cast

from confluent_kafka import KafkaException, Producer

from core.catalog import Catalog
from core.errors import Refused, Usage
from core.identifiers import Name
from core.topic import Topic
from infra.kafka import topic_admin
from infra.kafka.client_config import librdkafka
from infra.kafka.delivery_reports import (
    DELIVERY_TIMEOUT_MS,
    MAX_RECORD_BYTES,
    Batch,
    DeliveryAccount,
    FailedRecord,
    PartitionDelivery,
)
from infra.kafka.input_files import OutgoingRecord
from infra.progress_bar import bar
from infra.settings import Settings

_SHORTEST_POLL = 0.005  # librdkafka rounds to milliseconds; a shorter wait would be a busy loop
_REDRAW = 0.1
_AT_ONCE = 256  # at most so many records between two polls for delivery reports,
_AT_ONCE_BYTES = 1_000_000  # and no more once their values have this size: a record may have 3 MiB

OnSend = Callable[[int, float], None]


@dataclass(frozen=True)
class Acknowledged:
    """The result of one ``produce``: records sent, acknowledged per partition, and failed."""

    topic: str
    sent: int
    partitions: tuple[PartitionDelivery, ...]
    failed: int
    failures: tuple[FailedRecord, ...]
    interrupted: bool
    seconds: float

    @property
    def count(self) -> int:
        """Records acknowledged."""
        return sum(partition.count for partition in self.partitions)

    @property
    def complete(self) -> bool:
        """Whether every record of the input was acknowledged."""
        return not self.interrupted and self.count == self.sent

    def require_complete(self) -> Acknowledged:
        """Returns itself when nothing failed. Raises Refused naming the records that were not acknowledged."""
        missing = self.sent - self.count
        if missing == 0:
            return self
        lines = "\n".join(f"    record {failure.number}: {failure.reason}" for failure in self.failures)
        more = missing - len(self.failures)
        raise Refused(
            f"{missing:,} of {self.sent:,} records were not acknowledged:\n{lines}"
            + (f"\n    and {more:,} more" if more > 0 else ""),
            where=f"topic {self.topic}; {self.count:,} records were acknowledged and stay in the log",
            fix="send only the failed records again; sending all would duplicate the others",
        )


def produce(
    settings: Settings,
    topic: Topic,
    records: Iterable[OutgoingRecord],
    *,
    rate: float | None = None,
    total: int | None = None,
    progress: Callable[[], float] | None = None,
    on_send: OnSend | None = None,
    draw: bool = True,
) -> Acknowledged:
    """Sends every record, waits for the acknowledgements and counts them. Creates the topic if it does not exist.

    With ``rate`` (records per second), record n is due n / rate seconds after the first, however slow the brokers
    are. ``on_send(n, due)`` is called when record n (from 0) is passed to librdkafka; ``due`` is on
    ``time.monotonic``. ``progress`` (0 to 1) or ``total`` (records) drive the progress bar; ``draw=False`` hides it.
    Ctrl-C stops sending, waits for the records in flight and sets ``interrupted``.
    A failed record does not stop the others: call ``require_complete`` on the result. Raises TryAgain when Kafka is
    not up.
    """
    if rate is not None and rate <= 0:
        raise Usage(f"the rate is {rate} records per second", fix="specify a rate above 0")
    topic_admin.create_topics(settings, Catalog({Name(topic.name): topic}, {}))
    producer, account, started = _producer(settings, rate is not None), DeliveryAccount(), time.monotonic()
    interrupted = False
    with _drawn(draw, topic, 100 if progress else total) as show, _stop_request() as stop_requested:

        def redraw() -> None:
            show(100 * progress() if progress else account.acknowledged)

        try:
            for batch in due_records(producer, records, rate, on_send, redraw, stop_requested):
                _send(producer, topic.name, batch, account)
            interrupted = stop_requested.is_set()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            _finish(producer, topic.name, account, redraw, interrupted)
    partitions = tuple(
        PartitionDelivery(number, *offsets) for number, offsets in sorted(account.acknowledged_offsets.items())
    )
    seconds = time.monotonic() - started
    return Acknowledged(
        topic.name, account.sent, partitions, account.failed, tuple(account.failures), interrupted, seconds
    )


def _drawn(draw: bool, topic: Topic, total: float | None) -> AbstractContextManager[Callable[[float], None]]:
    return bar(f"sending to {topic.name}", total) if draw else nullcontext(lambda _: None)


@contextmanager
def _stop_request() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set: librdkafka's poll would lose an exception. A second signal raises."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        requested.set()
        restore()

    for number in before:
        signal.signal(number, request_stop)
    try:
        yield requested
    finally:
        restore()


def options(settings: Settings) -> dict[str, Any]:
    """Options of every idempotent producer: acks=all, and partitions by key as in Java clients."""
    return {
        **librdkafka(settings),
        "enable.idempotence": True,
        "acks": "all",
        "compression.type": "lz4",
        "partitioner": "murmur2_random",  # a key has the same partition for every client
        "message.max.bytes": MAX_RECORD_BYTES,
        "logger": _silent(),
    }


def _producer(settings: Settings, live: bool) -> Producer:
    return Producer(
        options(settings)
        | {
            "client.id": "lk-produce",
            "sticky.partitioning.linger.ms": 0,  # a partition for each record without a key, not for each batch
            "linger.ms": 5 if live else 100,  # at a rate, low latency; in bulk, bigger batches
            "batch.size": 1_000_000,
            "queue.buffering.max.kbytes": 262_144,
            "queue.buffering.max.messages": 500_000,
            "message.timeout.ms": DELIVERY_TIMEOUT_MS,
        }
    )


def _silent() -> Any:
    """A logger that drops librdkafka's log lines: delivery reports already carry the failures."""
    import logging

    logger = logging.getLogger("lk.producer")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def due_records(
    producer: Producer,
    records: Iterable[OutgoingRecord],
    rate: float | None,
    on_send: OnSend | None,
    show: Callable[[], None],
    stop_requested: threading.Event,
) -> Iterator[Sequence[OutgoingRecord]]:
    """Yields the records that are due, some at once, until a stop is requested; without a rate all are due.

    Polls for delivery reports before each batch, and while it waits.
    """
    start = last_draw = time.monotonic()
    remaining, number = iter(records), 0
    while True:
        due = start + number / rate if rate else start
        while (wait := due - time.monotonic()) > 0 and not stop_requested.is_set():
            producer.poll(min(max(wait, _SHORTEST_POLL), _REDRAW))
        producer.poll(0)
        now = time.monotonic()
        if now - last_draw > _REDRAW:
            last_draw = now
            show()
        count = min(max(1, int((now - start) * rate) + 1 - number), _AT_ONCE) if rate else _AT_ONCE
        batch: list[OutgoingRecord] = []
        try:
            if not stop_requested.is_set():
                _read_into(batch, remaining, count)
        except BaseException:  # a broken file, or Ctrl-C: what was read before is sent
            yield batch
            raise
        if not batch:
            return
        if on_send:
            for place in range(number, number + len(batch)):
                on_send(place, start + place / rate if rate else now)
        yield batch
        number += len(batch)


def _read_into(batch: list[OutgoingRecord], records: Iterator[OutgoingRecord], count: int) -> None:
    """Adds up to ``count`` records, fewer if they are large. Those before an error stay in the batch."""
    size = 0
    for record in islice(records, count):
        batch.append(record)
        size += len(record.value or b"")
        if size >= _AT_ONCE_BYTES:
            return


def _send(producer: Producer, topic: str, records: Sequence[OutgoingRecord], account: DeliveryAccount) -> None:
    """Sends records whose numbers follow those that were sent before."""
    if any(record.timestamp or record.headers for record in records):  # which no report of a failed record tells
        for record in records:
            account.sent += 1
            _send_batch(producer, topic, Batch(account, [account.sent], [record]))
        return
    first = account.sent + 1
    batch = Batch(account, range(first, first + len(records)), records)
    account.sent += len(records)
    _send_batch(producer, topic, batch)


def _send_batch(producer: Producer, topic: str, batch: Batch) -> None:
    report, send = batch.report, producer.produce
    for place, (key, value, timestamp, headers) in enumerate(batch.records):
        while True:
            try:
                if timestamp or headers:
                    send(topic, value, key, -1, report, timestamp=timestamp or 0, headers=cast("Any", list(headers)))
                else:
                    send(topic, value, key, -1, report)
            except BufferError:
                producer.poll(0.05)
                continue
            except KafkaException as e:
                batch.fail(place, e.args[0])
            break


def _finish(producer: Producer, topic: str, account: DeliveryAccount, show: Callable[[], None], hurry: bool) -> None:
    _flush(producer, show, hurry)
    while account.to_resend:
        records, account.to_resend = account.to_resend, []
        account.resends += 1
        for number, record in records:
            _send_batch(producer, topic, Batch(account, [number], [record]))
        _flush(producer, show, hurry)


def _flush(producer: Producer, show: Callable[[], None], hurry: bool) -> None:
    deadline = time.monotonic() + (10 if hurry else DELIVERY_TIMEOUT_MS / 1000 + 5)
    while len(producer) and time.monotonic() < deadline:
        producer.flush(_REDRAW)
        show()
    if len(producer):
        producer.purge()
        producer.flush(1)
