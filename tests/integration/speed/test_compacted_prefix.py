"""A replay reads the first records of a compacted topic from an archive in which offsets have no record."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from batch.land import land
from core.catalog import Catalog
from core.identifiers import Name
from infra.control.manifest import ARCHIVE_EPOCH, read_epochs
from infra.kafka import kafka_admin
from infra.kafka.client_config import librdkafka
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.lake import delta
from infra.lake.archive import decoder_archive
from infra.settings import Settings
from speed.process import lifecycle
from tests.support.instances.speed_runs import catch_up, served
from views.programs import preferences, preferences_now

USERS = 40
TOPIC = replace(preferences.TOPIC, name="prefix_preferences")
VIEW = replace(preferences_now.VIEW, name="prefix_preferences_now", sources=(TOPIC.name,))


def record(number: int, theme: str | None) -> OutgoingRecord:
    value = None if theme is None else f'{{"user_id":"u{number}","theme":"{theme}"}}'.encode()
    return OutgoingRecord(f"u{number}".encode(), value)


def send_in_a_transaction(settings: Settings, theme: str) -> None:
    """Kafka's marker of the commit takes an offset in each partition: no record has it, as after a compaction."""
    own = {"transactional.id": "prefix-preferences", "partitioner": "murmur2_random"}  # as `lk produce` does
    writer = Producer({**librdkafka(settings), **own})
    writer.init_transactions(30)
    writer.begin_transaction()
    for number in range(USERS):
        sent = record(number, theme)
        writer.produce(TOPIC.name, sent.value, sent.key)
    writer.commit_transaction(30)


@pytest.mark.slow
def test_a_compacted_topic_is_replayed_from_an_archive_with_gaps(stack: Settings, spark: SparkSession) -> None:
    topic, view = Name(TOPIC.name), Name(VIEW.name)
    catalog = Catalog({topic: TOPIC}, {view: VIEW})
    lifecycle.declare(stack, catalog)  # creates the topic
    send_in_a_transaction(stack, "dark")
    later = [record(number, "light" if number % 2 else None) for number in range(0, USERS, 3)]
    produce(stack, TOPIC, later, draw=False).require_complete()
    prefix = kafka_admin.end_offsets(stack, [topic])
    land(spark, stack, catalog, prefix)
    archived = decoder_archive(stack, topic, catalog.decoder(topic))
    assert sum(file.records for file in archived.files) == USERS + len(later) == 54
    assert archived.ends.size == 54 + TOPIC.partitions, "a marker in each partition"
    run = lifecycle.declare(stack, catalog, kind="replay", prefix=prefix)
    produce(stack, TOPIC, [record(39, "light"), record(40, "dark")], draw=False).require_complete()
    catch_up(stack, spark, catalog, run)
    expected = {f"u{n}": "dark" for n in range(USERS) if n % 3} | {f"u{n}": "light" for n in range(3, USERS, 6)}
    expected |= {"u39": "light", "u40": "dark"}
    rows = served(stack, catalog, run, VIEW.name)
    assert {key[0]: row["theme"] for key, row in rows.items()} == expected
    epochs = read_epochs(stack, run.id)
    assert (epochs[0].number, epochs[0].end) == (ARCHIVE_EPOCH, prefix)
    assert sum(counts.records for counts in epochs[0].counted.values()) == 54
    assert epochs[-1].end == kafka_admin.end_offsets(stack, [topic])
    assert delta.read(str(archived.path), ["_offset"]).num_rows == 54
