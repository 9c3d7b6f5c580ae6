"""Helpers of the layers' tests: a catalog per test, the records of the log, epochs committed step by step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from core.catalog import Catalog
from core.compute.partial_rows import partial, record_counts, totals_of
from core.cut import Cut
from core.decoding.decode import decode
from core.identifiers import Name
from core.measures import Column
from core.record_counts import Totals
from core.sample_data.records import records
from core.sample_spec import SampleRecord, SampleSpec
from flows.batch_cycle import run_batch
from infra.control import locks, runs
from infra.control.builds import Built, build_name, build_number, read_builds
from infra.control.claims import Claim, add_claim, read_claims
from infra.control.manifest import EPOCHS, Epoch, epoch_row, last_epoch
from infra.control.runs import Run
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.lake import delta, idempotent_writes, table_paths
from infra.lake.arrow_types import arrow_schema
from infra.settings import Settings
from serving.promote import serve_run
from serving.read import show
from tests.support.oracle.view_oracle import Record, Rows, expected
from tests.support.records.pieces import in_utc
from tests.support.records.views import rollup

START = 1_700_000_000_000
POISON = (
    OutgoingRecord(b"X", b"{broken"),
    OutgoingRecord(b"X", None),
    OutgoingRecord(None, b'{"a":1}'),
    OutgoingRecord(b"X", b"\xff\xfe"),
)


def catalog_of(settings: Settings, prefix: str, only: str = "trade") -> Catalog:
    """A catalog of prefixed copies of the trade views and their topic, so that tests share only the servers.

    Only views whose names start with ``only`` are copied.
    """
    catalog = definition_files.load(settings)
    topic = replace(catalog.topic("trades"), name=f"{prefix}_trades")
    views = {
        Name(f"{prefix}_{name}"): replace(view, name=f"{prefix}_{name}", sources=(topic.name,))
        for name, view in catalog.views.items()
        if view.sources == ("trades",) and name.startswith(only)
    }
    return Catalog({Name(topic.name): topic}, views)


def topic_of(catalog: Catalog) -> Name:
    return next(iter(catalog.topics))


def send(
    settings: Settings, catalog: Catalog, count: int, first: int = 0, extra: Iterable[OutgoingRecord] = ()
) -> None:
    spec = SampleSpec(seed=5, start=START, rate=200.0, late=0.05, out_of_order=0.1)
    topic = catalog.topic(topic_of(catalog))
    samples = records(topic, spec, count, first)
    trades = [OutgoingRecord(sample.key, _value(sample, number)) for number, sample in enumerate(samples, first)]
    produce(settings, topic, [*trades, *extra], draw=False).require_complete()


def log(settings: Settings, topic: Name, end: Cut | None = None) -> list[Record]:
    """Every record of the topic below ``end``, with the topic name ``trades`` that the oracle expects."""
    consumer = Consumer({"bootstrap.servers": settings.bootstrap_servers, "group.id": "none", "fetch.wait.max.ms": 5})
    log_records: list[Record] = []
    for _, partition, stop in (end or kafka_admin.end_offsets(settings, [topic])).only([topic]).ends:
        consumer.assign([TopicPartition(str(topic), partition, 0)])
        for offset in range(stop):
            message = consumer.poll(20.0)
            assert message is not None
            assert not message.error()
            assert message.offset() == offset
            timestamp_ms = message.timestamp()[1]
            log_records.append(Record("trades", partition, offset, timestamp_ms, message.key(), message.value()))
    consumer.close()
    return log_records


def shown(settings: Settings, catalog: Catalog, view: Name, publish: int | None = None) -> Rows:
    """The served rows by key, in the oracle's form. Fails on a duplicate key."""
    result = show(settings, catalog, view, publish=publish)
    width = len(catalog.view(view).identifying_columns)
    rows_by_key: Rows = {}
    for row in result.rows:
        key = tuple(in_utc(value) for value in row[:width])
        assert key not in rows_by_key
        rows_by_key[key] = dict(zip(result.columns[width:], map(in_utc, row[width:]), strict=True))
    return rows_by_key


def expected_rows(view: Name, prefix: str, records: Sequence[Record]) -> Rows:
    return expected(view.removeprefix(f"{prefix}_"), records)


def check_served(settings: Settings, catalog: Catalog, prefix: str, end: Cut) -> None:
    """Fails unless every view of the catalog serves the oracle's rows of the log below ``end``."""
    records = log(settings, topic_of(catalog), end)
    for view in catalog.views:
        assert shown(settings, catalog, view) == expected_rows(view, prefix, records)


def new_run(settings: Settings, catalog: Catalog, start: Cut | None = None, kind: runs.Kind = "live") -> Run:
    """Declares a run and creates its tables, as the start of a speed job does."""
    table_paths.open_lake(settings)
    topic = topic_of(catalog)
    run = Run(
        id=runs.new_run_id(settings),
        views={name: catalog.digest(name) for name in catalog.views},
        topics=kafka_admin.topic_ids(settings, [topic]),
        decoders={topic: catalog.decoder(topic)},
        start=start or Cut(),
        kind=kind,
    )
    runs.declare_run(settings, run)
    epoch_columns = (Column("first_epoch", "bigint"), Column("last_epoch", "bigint"))
    for name, view in catalog.views.items():
        schema = arrow_schema((*view.stored_columns, *epoch_columns))
        delta.create(table_paths.speed(settings, run.id, name), schema)
    delta.create(table_paths.manifest(settings, run.id), EPOCHS)
    return run


def commit_epoch(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> Epoch:
    """Commits all new records as one epoch: first the views' rows, then the manifest row."""
    topic = topic_of(catalog)
    last = last_epoch(settings, run.id)
    number, start = (last.number + 1, last.end) if last else (0, run.start)
    end = kafka_admin.end_offsets(settings, [topic])
    events = decode(catalog.topic(topic), _records(spark, settings, topic, start, end)).persist()
    versions = {}
    for name, view in catalog.views.items():
        rows = partial(rollup(view), catalog.topic(topic), events).withColumns(
            {"first_epoch": fn.lit(number), "last_epoch": fn.lit(number)}
        )
        table = rows.withColumns({c: fn.col(c).cast("bigint") for c in ("first_epoch", "last_epoch")}).toArrow()
        path = table_paths.speed(settings, run.id, name)
        idempotent_writes.append_once(path, table.cast(delta.read(path).schema), runs.txn_app(run.id, name), number)
        versions[name] = delta.version(path)
    counts = record_counts(list(catalog.views.values()), events).collect()
    counted = totals_of((row.asDict() for row in counts), catalog.views)
    committed = Epoch(
        number=number,
        start=start,
        end=end,
        counted=counted.partitions,
        rows=counted.rows,
        versions=versions,
        batch_time_ms=0,
        committed_at=datetime.now(UTC),
        total=Totals(),
    )
    committed = replace(committed, total=(last.total if last else Totals()) + counted)
    idempotent_writes.append_once(
        table_paths.manifest(settings, run.id), epoch_row(committed), runs.txn_app(run.id), number
    )
    events.unpersist()
    return committed


def built(spark: SparkSession, settings: Settings, catalog: Catalog, run: Name | None = None) -> Claim:
    """Claims, lands, builds and gates a build. Does not publish it."""
    claimed = claim(settings, catalog, run)
    land(spark, settings, catalog, claimed.cut)
    passed(spark, settings, catalog, claimed)
    return claimed


def passed(
    spark: SparkSession, settings: Settings, catalog: Catalog, claimed: Claim, *, incremental: bool = False
) -> list[Built]:
    """Builds and gates the landed records. Returns the rows of the control table ``builds`` for this build."""
    build(spark, settings, catalog, claimed, incremental=incremental)
    require_passed(gate(spark, settings, catalog, claimed))
    return [row for row in read_builds(settings) if row.build == claimed.build]


def in_lambda(settings: Settings, spark: SparkSession, catalog: Catalog) -> Run:
    """A run that serves on top of a published build of its records; 200 newer ones are in the log alone."""
    send(settings, catalog, 300, 0, POISON)
    run = new_run(settings, catalog)
    commit_epoch(spark, settings, catalog, run)
    serve_run(settings, catalog, run.id, "test")
    run_batch(settings, catalog)
    send(settings, catalog, 200, 300)
    return run


def back_in_lambda(settings: Settings, catalog: Catalog) -> None:
    """Switches the views back to Lambda. In Kappa mode, other tests on these servers could not publish a build."""
    assert run_batch(settings, catalog, to_lambda=True).publication


def claim_at(settings: Settings, catalog: Catalog, cut: Cut) -> Claim:
    """Adds a claim with this cut and returns it."""
    with locks.hold(settings, "control") as lease:
        numbers = [build_number(c.build) for c in read_claims(settings)]
        new_claim = Claim(
            build=build_name(max(numbers, default=0) + 1),
            run=None,
            epoch=-1,
            cut=cut,
            at=datetime.now(UTC),
            who="test",
            views={name: catalog.digest(name) for name in catalog.views},
            decoders={name: catalog.decoder(name) for name in catalog.topics},
        )
        add_claim(settings, lease, new_claim)
    return new_claim


def _records(spark: SparkSession, settings: Settings, topic: Name, start: Cut, end: Cut) -> DataFrame:
    partitions = range(kafka_admin.partitions(settings, [topic])[topic])
    options = {
        "kafka.bootstrap.servers": settings.bootstrap_servers,
        "subscribe": str(topic),
        "startingOffsets": json.dumps({topic: {str(p): start.end(topic, p) for p in partitions}}),
        "endingOffsets": json.dumps({topic: {str(p): end.end(topic, p) for p in partitions}}),
        "includeHeaders": "true",
    }
    return spark.read.format("kafka").options(**options).load()


def _value(sample: SampleRecord, number: int) -> bytes:
    """The record's JSON. Every third record has schema version 2, the others version 1."""
    trade = json.loads(sample.value or b"", parse_float=str)
    side, ticker = trade["type"], trade["ticker"]
    common_fields = f'"price":{trade["price"]},"size":{trade["size"]},"event_time":{trade["event_time"]}'
    if number % 3:
        return f'{{"type":"{side}","ticker":"{ticker}",{common_fields},"id":"{number}"}}'.encode()
    return f'{{"version":2,"side":"{side.upper()}","symbol":"{ticker}",{common_fields},"venue":"XNAS"}}'.encode()
