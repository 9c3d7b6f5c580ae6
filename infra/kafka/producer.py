"""The producer: idempotent, acknowledged by all replicas, on an open-loop schedule, with an account of every record."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
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
    DeliveryAccount,
    FailedRecord,
    PartitionDelivery,
)
from infra.kafka.input_files import OutgoingRecord
from infra.progress_bar import bar
from infra.settings import Settings

_NAP = 0.005  # librdkafka counts in whole milliseconds; a shorter wait would be a busy loop
_REDRAW = 0.1
_BURST = 256  # records between two looks at the reports when there is no rate

OnSend = Callable[[int, float], None]


@dataclass(frozen=True)
class Acknowledged:
    """The account of one call: what was sent, what each partition acknowledged, and what failed."""

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
        return sum(written.count for written in self.partitions)

    @property
    def complete(self) -> bool:
        """Whether every record of the input was acknowledged."""
        return not self.interrupted and self.count == self.sent

    def insist(self) -> Acknowledged:
        """Itself when nothing failed; raises Refused naming the records that were not acknowledged."""
        missing = self.sent - self.count
        if missing == 0:
            return self
        lines = "\n".join(f"    record {failure.number}: {failure.reason}" for failure in self.failures)
        more = missing - len(self.failures)
        raise Refused(
            f"{missing:,} of {self.sent:,} records were not acknowledged:\n{lines}"
            + (f"\n    and {more:,} more" if more > 0 else ""),
            where=f"topic {self.topic}; {self.count:,} were acknowledged and stay",
            fix="send the failed ones again; sending all would double the others",
        )


def produce(
    settings: Settings,
    topic: Topic,
    records: Iterable[OutgoingRecord],
    *,
    rate: float | None = None,
    total: int | None = None,
    done: Callable[[], float] | None = None,
    on_send: OnSend | None = None,
    draw: bool = True,
) -> Acknowledged:
    """Sends every record, waits for the acknowledgements and returns the account; makes the topic when missing.

    With ``rate``, record n is due n / rate seconds after the first, however slow the answers are. ``on_send(n, due)``
    is called as record n (from 0) is handed over; ``due`` is a ``time.monotonic`` instant. ``done`` (0 to 1) or
    ``total`` draw the bar, unless the caller draws its own. Ctrl-C stops sending, waits for what is under way and
    sets ``interrupted``.
    A failed record does not stop the others: call ``insist`` on the result. Raises TryAgain when Kafka is not up.
    """
    if rate is not None and rate <= 0:
        raise Usage(f"a rate of {rate} records a second is impossible", fix="give a rate above 0")
    topic_admin.create_topics(settings, Catalog({Name(topic.name): topic}, {}))
    producer, account, started = _producer(settings, rate is not None), DeliveryAccount(), time.monotonic()
    sent, interrupted = 0, False
    with _drawn(draw, topic, 100 if done else total) as show, _asked_to_stop() as asked:

        def redraw() -> None:
            show(100 * done() if done else account.acknowledged)

        try:
            for record in _paced(producer, records, rate, on_send, redraw, asked):
                sent += 1
                _send(producer, topic.name, record, account, sent)
            interrupted = asked.is_set()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            _finish(producer, topic.name, account, redraw, interrupted)
    parts = tuple(PartitionDelivery(number, *seen) for number, seen in sorted(account.written.items()))
    seconds = time.monotonic() - started
    return Acknowledged(topic.name, sent, parts, account.failed, tuple(account.failures), interrupted, seconds)


def _drawn(draw: bool, topic: Topic, total: float | None) -> AbstractContextManager[Callable[[float], None]]:
    return bar(f"sending to {topic.name}", total) if draw else nullcontext(lambda _: None)


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C and SIGTERM, because an exception in librdkafka's poll gets lost; a second signal raises."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        restore()


def _producer(settings: Settings, live: bool) -> Producer:
    return Producer(
        {
            **librdkafka(settings),
            "client.id": "lk-produce",
            "enable.idempotence": True,
            "acks": "all",
            "compression.type": "lz4",
            "partitioner": "murmur2_random",  # as Java clients do: one key, one partition, whoever sends
            "sticky.partitioning.linger.ms": 0,  # without a key, every record takes its own; else a file lands in one
            "linger.ms": 5 if live else 100,  # in bulk, bigger batches; on a schedule, fresh ones
            "batch.size": 1_000_000,
            "message.max.bytes": MAX_RECORD_BYTES,
            "queue.buffering.max.kbytes": 262_144,
            "queue.buffering.max.messages": 500_000,
            "message.timeout.ms": DELIVERY_TIMEOUT_MS,
        },
        logger=_silent(),
    )


def _silent() -> Any:
    """librdkafka's log lines stay out of the user's sight; failures come back per record."""
    import logging

    logger = logging.getLogger("lk.producer")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def _paced(
    producer: Producer,
    records: Iterable[OutgoingRecord],
    rate: float | None,
    on_send: OnSend | None,
    show: Callable[[], None],
    asked: threading.Event,
) -> Iterable[OutgoingRecord]:
    """The records, each not before it is due, until asked to stop; waiting is spent on delivery reports."""
    start = drawn = now = time.monotonic()
    for number, record in enumerate(records):
        due = start + number / rate if rate else now
        while (wait := due - time.monotonic()) > 0 and not asked.is_set():
            producer.poll(min(max(wait, _NAP), _REDRAW))
        if asked.is_set():
            return
        if rate or number % _BURST == 0:
            producer.poll(0)
            now = time.monotonic()
            if now - drawn > _REDRAW:
                drawn = now
                show()
        if on_send:
            on_send(number, due)
        yield record


def _send(producer: Producer, topic: str, record: OutgoingRecord, account: DeliveryAccount, number: int) -> None:
    report = partial(account.report, number, record)
    while True:
        try:
            at, headers = record.timestamp or 0, cast("Any", list(record.headers))  # 0 is now
            producer.produce(topic, record.value, record.key, on_delivery=report, timestamp=at, headers=headers)
        except BufferError:
            producer.poll(0.05)
        except KafkaException as e:
            account.fail(number, e.args[0])
            return
        else:
            return


def _finish(producer: Producer, topic: str, account: DeliveryAccount, show: Callable[[], None], hurry: bool) -> None:
    _flush(producer, show, hurry)
    while account.innocent:
        again, account.innocent = account.innocent, []
        account.rounds += 1
        for number, record in again:
            _send(producer, topic, record, account, number)
        _flush(producer, show, hurry)


def _flush(producer: Producer, show: Callable[[], None], hurry: bool) -> None:
    deadline = time.monotonic() + (10 if hurry else DELIVERY_TIMEOUT_MS / 1000 + 5)
    while len(producer) and time.monotonic() < deadline:
        producer.flush(_REDRAW)
        show()
    if len(producer):
        producer.purge()
        producer.flush(1)
