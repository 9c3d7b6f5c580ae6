"""Generated records of a topic, as the producer sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.sample_spec import SampleRecord
from core.topic import Topic
from infra.kafka.input_files import OutgoingRecord


def outgoing(topic: Topic, samples: Iterable[SampleRecord]) -> Iterator[OutgoingRecord]:
    """Outgoing records. A sample's time becomes the record timestamp where the value has no event time field."""
    if topic.event_time is None:
        return (OutgoingRecord(*sample) for sample in samples)
    return (OutgoingRecord(key, value) for key, value, _ in samples)
