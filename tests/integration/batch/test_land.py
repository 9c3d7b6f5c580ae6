"""Landing goes on where the archive ends, and refuses a log that has lost what was not landed."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from batch.land import Landed, land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.topic import Field
from infra.control import locks
from infra.kafka import admin_requests, kafka_admin
from infra.lake.archive import decoder_archive
from infra.retry import retry_on
from infra.settings import Settings
from tests.support.instances.layers import (
    POISON,
    catalog_of,
    claim_at,
    passed,
    send,
    topic_of,
)
from tests.support.records.topics import delete


def spans(landed: list[Landed]) -> list[tuple[int, int, int]]:
    return [(s.partition, s.start, s.end) for topic_landed in landed for s in topic_landed.spans]


@pytest.mark.slow
def test_landing_goes_on_where_the_archive_ends_and_takes_a_new_partition_from_0(
    stack: Settings, spark: SparkSession
) -> None:
    catalog = catalog_of(stack, "bpart")
    topic = topic_of(catalog)
    send(stack, catalog, 500)
    before = kafka_admin.end_offsets(stack, [topic])
    land(spark, stack, catalog, before)
    grow(stack, topic, 6)
    send(stack, catalog, 900, first=500)
    after = kafka_admin.end_offsets(stack, [topic])
    landed = land(spark, stack, catalog, after)
    assert spans(landed) == [(s.partition, s.start, s.end) for s in after.since(before)]
    assert {4, 5} <= {partition for partition, _, _ in spans(landed)}
    assert decoder_archive(stack, topic, catalog.decoder(topic)).ends == after


def grow(settings: Settings, topic: Name, count: int) -> None:
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

    for future in admin_requests.admin_client(settings).create_partitions([NewPartitions(str(topic), count)]).values():
        future.result(timeout=20)

    def grown() -> None:
        assert kafka_admin.partitions(settings, [topic])[topic] == count

    retry_on(AssertionError, grown, 20, every=0.1)


def test_removed_records_are_refused_with_their_range(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bhead")
    topic = topic_of(catalog)
    send(stack, catalog, 400)
    ends = kafka_admin.end_offsets(stack, [topic])
    partition = ends.ends[0][1]
    delete_before(stack, topic, partition, 7)
    with pytest.raises(Refused) as refused:
        land(spark, stack, catalog, ends)
    expected = f"records are no longer in the log: {topic}, partition {partition}, offsets 0 to 6"
    assert refused.value.what == expected
    assert decoder_archive(stack, topic, catalog.decoder(topic)).ends == Cut()


def delete_before(settings: Settings, topic: Name, partition: int, offset: int) -> None:
    from confluent_kafka import TopicPartition

    request = [TopicPartition(str(topic), partition, offset)]
    for future in admin_requests.admin_client(settings).delete_records(request).values():
        future.result(timeout=20)


@pytest.mark.slow
def test_another_decoder_decodes_the_older_archive_again_then_goes_on(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bdec")
    topic = topic_of(catalog)
    send(stack, catalog, 600, extra=POISON)
    cut = kafka_admin.end_offsets(stack, [topic])
    land(spark, stack, catalog, cut)
    for _, partition, _ in cut.ends:
        delete_before(stack, topic, partition, 1)
    old = catalog.topic(topic)
    changed = replace(old, fields=(*old.fields, Field("colour", required=False)))
    new_catalog = Catalog({topic: changed}, catalog.views)
    send(stack, catalog, 100, first=600)
    all_ends = kafka_admin.end_offsets(stack, [topic])
    (landed,) = land(spark, stack, new_catalog, all_ends)
    assert (landed.redecoded, landed.records) == (604, 100)
    assert decoder_archive(stack, topic, new_catalog.decoder(topic)).ends == all_ends
    claimed = claim_at(stack, new_catalog, all_ends)
    assert all(b.passed for b in passed(spark, stack, new_catalog, claimed))


def test_a_topic_that_was_created_again_is_refused(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bagain")
    topic = topic_of(catalog)
    send(stack, catalog, 200)
    land(spark, stack, catalog, kafka_admin.end_offsets(stack, [topic]))
    delete(stack, topic)
    send(stack, catalog, 900)
    with pytest.raises(Refused, match="deleted and created again"):
        land(spark, stack, catalog, kafka_admin.end_offsets(stack, [topic]))


def test_a_second_landing_at_once_is_told_to_try_again(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "btwo")
    send(stack, catalog, 50)
    cut = kafka_admin.end_offsets(stack, [topic_of(catalog)])
    with locks.hold(stack, "batch"), pytest.raises(TryAgain, match="the lease batch is held"):
        land(spark, stack, catalog, cut)
