"""Our source of exact offsets beside Spark's own: the same rows, and the same refusals."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError
from pyspark.sql import Row, SparkSession

from core.catalog import Catalog
from core.cut import Cut, Span
from core.decoding.decoder_conf import DECODER, PLAIN
from core.identifiers import Name
from core.topic import Lines, Topic
from infra.control.runs import Run
from infra.kafka import kafka_admin, topic_admin
from infra.kafka.spark_source import read_spans
from infra.settings import Settings
from speed.epoch.prepared_plans import prepare
from speed.epoch.topic_results import COUNTS
from tests.support.records.topics import truncate

DAY = 86_400_000  # milliseconds


def create(settings: Settings, name: str, partitions: int = 1) -> Catalog:
    catalog = Catalog({Name(name): Topic(name, Lines("(.*)"), (), partitions=partitions)}, {})
    topic_admin.create_topics(settings, catalog)
    return catalog


def producer(settings: Settings, **more: str) -> Producer:
    return Producer({"bootstrap.servers": settings.bootstrap_servers, "enable.idempotence": True, **more})


def numbers(settings: Settings, topic: str, count: int) -> None:
    """Records "0", "1", … with a batch for each, so that a span can end inside and between batches."""
    of_topic = producer(settings, **{"linger.ms": "0"})
    for number in range(count):
        of_topic.produce(topic, str(number), partition=0)
        assert of_topic.flush(30) == 0


def rows(spark: SparkSession, settings: Settings, spans: list[Span], task_records: int = 1_000) -> list[Row]:
    return read_spans(spark, settings, spans, task_records=task_records).collect()


def rows_of_spark(spark: SparkSession, settings: Settings, spans: list[Span]) -> list[Row]:
    decoder = spark.conf.get(DECODER)
    assert decoder
    spark.conf.set(DECODER, PLAIN)
    try:
        return rows(spark, settings, spans)
    finally:
        spark.conf.set(DECODER, decoder)


def offsets(read: list[Row]) -> list[int]:
    return [row.offset for row in read]


def test_every_shape_of_record_is_the_same_row_as_of_sparks_source(stack: Settings, spark: SparkSession) -> None:
    create(stack, "shapes", partitions=2)
    shapes = producer(stack)
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("a", None), ("", b""), ("é", "€".encode())]
    shapes.produce("shapes", key=b"k", value=b"v", partition=0, timestamp=1)
    shapes.produce("shapes", key=None, value=b"v", partition=0, timestamp=20_000 * DAY + 123)
    shapes.produce("shapes", key=b"k", value=None, partition=0)
    shapes.produce("shapes", key=b"", value=b"", partition=1, headers=headers)
    shapes.produce("shapes", key=b"\x00\xff", value=b"\xff" * 100_000, partition=1, headers=[("lk_origin", b"x")])
    assert shapes.flush(30) == 0
    spans = [Span(Name("shapes"), 0, 0, 3), Span(Name("shapes"), 1, 0, 2)]
    read = sorted(rows(spark, stack, spans), key=lambda row: (row.partition, row.offset))
    assert read == sorted(rows_of_spark(spark, stack, spans), key=lambda row: (row.partition, row.offset))
    assert [(row.key, row.value and bytes(row.value)[:3], row.topic, row.partition, row.offset) for row in read] == [
        (b"k", b"v", "shapes", 0, 0),
        (None, b"v", "shapes", 0, 1),
        (b"k", None, "shapes", 0, 2),
        (b"", b"", "shapes", 1, 0),
        (b"\x00\xff", b"\xff\xff\xff", "shapes", 1, 1),
    ]
    assert [(header.key, header.value) for header in read[3].headers] == headers
    assert [row.headers for row in read[:3]] == [None, None, None]


def test_exactly_the_offsets_of_the_spans_are_read_in_tasks_of_a_size(stack: Settings, spark: SparkSession) -> None:
    create(stack, "exact")
    numbers(stack, "exact", 25)
    frame = read_spans(spark, stack, [Span(Name("exact"), 0, 3, 20)], task_records=5)
    read = frame.collect()
    assert [(row.offset, bytes(row.value)) for row in read] == [(n, str(n).encode()) for n in range(3, 20)]
    assert frame.rdd.getNumPartitions() == 4


def test_aborted_records_and_marks_of_transactions_are_no_rows(stack: Settings, spark: SparkSession) -> None:
    create(stack, "transactional")
    writer = producer(stack, **{"transactional.id": "log-source"})
    writer.init_transactions(30)
    for values, is_committed in ((b"ab", True), (b"cd", False), (b"e", True), (b"f", False)):
        writer.begin_transaction()
        for value in values:
            writer.produce("transactional", bytes([value]), partition=0)
        assert writer.flush(30) == 0
        (writer.commit_transaction if is_committed else writer.abort_transaction)(30)
    end = kafka_admin.end_offsets(stack, ["transactional"]).end("transactional", 0)
    spans = [Span(Name("transactional"), 0, 0, end)]
    read = rows(spark, stack, spans)
    assert [(row.offset, bytes(row.value)) for row in read] == [(0, b"a"), (1, b"b"), (6, b"e")]
    assert read == rows_of_spark(spark, stack, spans)


def test_a_removed_offset_fails_the_read(stack: Settings, spark: SparkSession) -> None:
    create(stack, "removed")
    numbers(stack, "removed", 5)
    truncate(stack, "removed", 0, before=2)
    assert offsets(rows(spark, stack, [Span(Name("removed"), 0, 2, 5)])) == [2, 3, 4]
    with pytest.raises(Py4JJavaError, match=r"OffsetOutOfRangeException: .*removed-0"):
        rows(spark, stack, [Span(Name("removed"), 0, 1, 5)])


def test_an_offset_behind_the_end_fails_the_read(stack: Settings, spark: SparkSession) -> None:
    create(stack, "ended")
    numbers(stack, "ended", 3)
    with pytest.raises(Py4JJavaError, match=r"OffsetOutOfRangeException: .*ended-0=3"):
        rows(spark, stack, [Span(Name("ended"), 0, 0, 4)])


def test_a_small_epoch_does_not_wait_for_each_of_its_partitions(stack: Settings, spark: SparkSession) -> None:
    """A consumer that asks for offsets after a poll waits half a second in each: the broker holds the next fetch."""
    name, partitions = Name("many"), 8
    catalog = create(stack, "many", partitions)
    many = producer(stack)
    for number in range(2 * partitions):
        many.produce("many", str(number), partition=number % partitions)
    assert many.flush(30) == 0
    run = Run(Name("r999999"), {}, {name: "id"}, {}, Cut())
    plans = prepare(spark, stack, catalog, run, {name: []})
    assert plans
    seconds = []
    for offset in (0, 1):
        began = time.monotonic()
        results = plans.run([Span(name, partition, offset, offset + 1) for partition in range(partitions)])
        seconds.append(time.monotonic() - began)
        assert results
        counts = next(table for result, table in results if result.part == COUNTS)
        assert sorted(counts["_partition"].to_pylist()) == list(range(partitions))
        assert counts["records"].to_pylist() == [1] * partitions
    assert seconds[1] < 2, seconds
