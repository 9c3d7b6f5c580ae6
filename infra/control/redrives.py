"""Redrives: which quarantined records were sent again repaired, and where in the log to look after a crash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from core.cut import Cut
from core.decoding.redrive_headers import origin_of
from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.kafka import kafka_admin
from infra.kafka.client_config import librdkafka
from infra.lake.leases import Lease
from infra.settings import Settings

_BLOCK = 5_000

TABLE = ControlTable(
    "redrives",
    pa.schema({"seq": pa.int64(), "state": TEXT, "ends": TEXT, "origins": TEXT, "at": TIME, "who": TEXT}),
)


@dataclass(frozen=True)
class Redrive:
    """Records sent again: ``origins`` are topic/partition/offset -> fingerprint of the copy.

    ``ends`` is where their topics ended before. What an ``intent`` has sent is in the log from there on, or nowhere.
    """

    seq: int
    state: Literal["intent", "done"]
    ends: Cut
    origins: Mapping[str, str]
    at: datetime
    who: str

    @property
    def topics(self) -> tuple[Name, ...]:
        """The topics that it is about."""
        return tuple(sorted({topic for topic, _, _ in self.ends.ends}))


def fingerprint(key: bytes | None, value: bytes | None) -> str:
    """Tells copies apart by what they say."""
    return hashlib.sha256(repr((key, value)).encode()).hexdigest()[:16]


def read_redrives(settings: Settings) -> list[Redrive]:
    """Every redrive in its newest state, oldest first."""
    rows = sorted(TABLE.read(settings), key=lambda row: (row["seq"], row["state"] == "intent"), reverse=True)
    newest = {row["seq"]: _redrive(row) for row in rows}
    return [newest[seq] for seq in sorted(newest)]


def add_redrive(settings: Settings, lease: Lease, redrive: Redrive) -> None:
    """Writes a redrive in a new state, under the lease "redrives"."""
    TABLE.append(settings, lease, as_row(redrive, origins=json.dumps(dict(redrive.origins))))


def done(settings: Settings) -> dict[str, str]:
    """The origins of all copies that are known to be in the log, with their fingerprints."""
    return {
        origin: seen for one in read_redrives(settings) if one.state == "done" for origin, seen in one.origins.items()
    }


def copies(settings: Settings, topics: Iterable[Name], start: Cut) -> dict[str, str]:
    """The redriven copies that the log holds of these topics from ``start`` on: origin -> fingerprint.

    Raises TryAgain when Kafka does not answer.
    """
    names = list(topics)
    begins = kafka_admin.start_offsets(settings, names)
    places = [(name, p) for name, count in kafka_admin.partitions(settings, names).items() for p in range(count)]
    parts = [TopicPartition(str(t), p, max(begins.end(t, p), start.end(t, p))) for t, p in places]
    conf: dict[str, Any] = {**librdkafka(settings), "group.id": "lk_redrive"}
    conf |= {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error", "log_level": 0}
    consumer = Consumer(conf | {"error_cb": lambda _: None})
    found: dict[str, str] = {}
    try:
        consumer.assign(parts)
        left = {(part.topic, part.partition) for part in parts}
        while left:
            messages = consumer.consume(_BLOCK, kafka_admin.DEADLINE)
            if not messages:
                raise kafka_admin.unavailable(settings, "no records come")
            for message in messages:
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    left.discard((message.topic() or "", message.partition() or 0))
                elif error is not None:
                    raise kafka_admin.unavailable(settings, error.str())
                else:
                    found |= _copy(message)
    except KafkaException as e:
        raise kafka_admin.unavailable(settings, str(e)) from None
    finally:
        consumer.close()
    return found


def _copy(message: Message) -> dict[str, str]:
    told: Any = message.headers() or ()
    origin = origin_of(told)
    return {origin: fingerprint(message.key(), message.value())} if origin else {}


def _redrive(row: Mapping[str, Any]) -> Redrive:
    return Redrive(**{**row, "ends": Cut.parse(row["ends"]), "origins": json.loads(row["origins"])})
