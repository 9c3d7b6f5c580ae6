"""Names of headers may be any bytes: no client of ours stops at one, and all take the record for the same."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.log_mark import mark_of_row
from core.positions import LogPartition
from flows.batch_cycle import run_batch
from flows.trace.kafka_record import read_record
from infra.kafka import kafka_admin
from infra.kafka.log_marks import mark_of, record_reader
from infra.kafka.message_content import UNREADABLE, headers_of
from infra.lake import delta, table_paths
from infra.settings import Settings
from serving.promote import serve_run
from serving.served_status import served_status
from speed.process import lifecycle
from tests.support.instances.layers import catalog_of, check_served, send, topic_of
from tests.support.instances.redrive_bench import TRADE
from tests.support.instances.speed_runs import running
from tests.support.records.raw_headers import send_with_header

NAMES = (b"\xff\xfe", b"name\xed\xa0\x80", b"\xc0\xaf", b"before\0after", "\ufffd".encode(), b"", b"plain")
# What librdkafka's client gives for each: its names end at a NUL.
HEADERS = (*[(UNREADABLE,)] * 3, *[((name, b"x"),) for name in ("before", "\ufffd", "", "plain")])


def test_no_name_of_a_header_stops_a_run_a_batch_or_a_trace(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "hdr")
    topic, value = topic_of(catalog), json.dumps(TRADE).encode()
    send(stack, catalog, 5)
    run = lifecycle.declare(stack, catalog)
    with running(stack, spark, catalog, run) as (query, _):
        for name in NAMES:  # the last record of an epoch, with which the next one begins
            send_with_header(stack, topic, 0, [(b"K", value, name)])
            query.processAllAvailable()
        serve_run(stack, catalog, run.id, "test")
        run_batch(stack, catalog)
        send(stack, catalog, 5, 5)
        query.processAllAvailable()
    end = kafka_admin.end_offsets(stack, [topic])
    check_served(stack, catalog, "hdr", end)
    assert [problem for problem in served_status(stack, catalog).unhealthy if topic in problem] == []
    check_clients(stack, catalog, end.end(topic, 0))


def check_clients(settings: Settings, catalog: Catalog, end: int) -> None:
    """Fails unless librdkafka's client and the archive, which Java's client read, give each record the same mark."""
    topic = topic_of(catalog)
    archived = delta.read(table_paths.archive(settings, topic, catalog.decoder(topic))).to_pylist()
    rows = {row["_offset"]: row for row in archived if row["_partition"] == 0 and row["_headers"]}
    headers = []
    with record_reader(settings) as reader:
        for offset in sorted(rows):
            (message,) = reader.records({LogPartition(topic, 0): offset}).values()
            assert headers_of(message) == headers_of(message)
            headers.append(headers_of(message))
            assert mark_of_row(rows[offset]).is_of(mark_of(message))
    assert tuple(headers) == HEADERS
    stages = [read_record(settings, catalog.topic(topic), 0, offset).stage for offset in sorted(rows)]
    assert [bool(stage.note) for stage in stages] == [True, True, True, False, False, False, False]
    assert [len(stage.headers) for stage in stages] == [0, 0, 0, 1, 1, 1, 1]
    assert max(rows) < end
