"""Land and build read every offset once and equal the oracle, also after a killed build."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import Landed, land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.topic import Field
from core.view import Check
from infra.control import locks
from infra.control.builds import build_number, read_builds
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.lake import delta, table_paths
from infra.lake.archive import decoder_archive
from infra.retry import retry_on
from infra.settings import Settings
from infra.trino import metastore
from tests.support.layers import (
    POISON,
    catalog_of,
    claim_at,
    commit_epoch,
    expected_rows,
    log,
    new_run,
    passed,
    send,
    topic_of,
)
from tests.support.oracle.view_oracle import Rows
from tests.support.topics import delete
from views.programs import preferences, preferences_now

Stack = tuple[Settings, SparkSession]


@pytest.fixture(scope="module")
def stack_and_spark(stack: Settings, spark: SparkSession) -> Stack:
    return stack, spark


def built_rows(settings: Settings, catalog: Catalog, view: Name, build_: Name) -> Rows:
    """The stored measures of a build by key, in the oracle's form."""
    keys = [column.name for column in catalog.view(view).identifying_columns]
    rows = delta.read(table_paths.batch(settings, view, build_)).to_pylist()
    rows_by_key: Rows = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        assert key not in rows_by_key
        rows_by_key[key] = {name: v for name, v in row.items() if name not in keys and not name.startswith("_")}
    return rows_by_key


def check_exact(settings: Settings, catalog: Catalog, prefix: str, build_: Name, cut: Cut) -> None:
    records = log(settings, topic_of(catalog), cut)
    for view in catalog.views:
        actual, expected = built_rows(settings, catalog, view, build_), expected_rows(view, prefix, records)
        stored = next(iter(actual.values())).keys()
        assert actual == {key: {name: row[name] for name in stored} for key, row in expected.items()}


def spans(landed: list[Landed]) -> list[tuple[int, int, int]]:
    return [(s.partition, s.start, s.end) for topic_landed in landed for s in topic_landed.spans]


def test_a_build_of_the_landed_log_is_exact_and_all_of_it_can_be_repeated(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bone")
    send(settings, catalog, 3_000, extra=POISON)
    claimed = claim(settings, catalog)
    assert (claimed.run, claimed.epoch, claimed.cut) == (None, -1, kafka_admin.end_offsets(settings, catalog.topics))
    landed = land(spark, settings, catalog, claimed.cut)
    assert [topic_landed.records for topic_landed in landed] == [3_004]
    built = build(spark, settings, catalog, claimed)
    assert [(b.passed, b.ledger_ok, b.how) for b in built] == [(None, True, "full")] * 2
    built = passed(spark, settings, catalog, claimed)
    assert [(b.passed, b.ledger_ok, b.how) for b in built] == [(True, True, "full")] * 2
    check_exact(settings, catalog, "bone", claimed.build, claimed.cut)
    assert claim(settings, catalog) == claimed
    assert spans(land(spark, settings, catalog, claimed.cut)) == []
    assert passed(spark, settings, catalog, claimed) == built
    counted = metastore.query(settings, f"SELECT count(*), count(_error) FROM archive.{topic_of(catalog)}").rows
    assert counted == ((3_004, 4),)


def test_an_incremental_build_equals_the_full_one(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "binc")
    send(settings, catalog, 2_000)
    first = claim(settings, catalog)
    land(spark, settings, catalog, first.cut)
    passed(spark, settings, catalog, first)
    send(settings, catalog, 1_500, first=1_000, extra=POISON)
    second = claim(settings, catalog)
    land(spark, settings, catalog, second.cut)
    added = passed(spark, settings, catalog, second, incremental=True)
    assert [(b.how, b.passed) for b in added] == [("incremental", True)] * 2
    check_exact(settings, catalog, "binc", second.build, second.cut)
    full = claim_at(settings, catalog, second.cut)
    again = passed(spark, settings, catalog, full)
    for incremental_build, full_build in zip(added, again, strict=True):
        assert incremental_build.rows == full_build.rows
        assert built_rows(settings, catalog, incremental_build.view, incremental_build.build) == built_rows(
            settings, catalog, full_build.view, full_build.build
        )


@pytest.mark.slow
def test_an_incremental_build_says_why_it_is_a_full_one(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bwhy", "trades_by")
    send(settings, catalog, 300)
    first = claim(settings, catalog)
    land(spark, settings, catalog, first.cut)
    assert [b.how for b in build(spark, settings, catalog, first, incremental=True)] == ["full"]
    notes = [b.counts.note for b in read_builds(settings) if b.build == first.build]
    assert all("there is no earlier build" in note for note in notes)


@pytest.mark.slow
def test_a_killed_build_leaves_a_folder_that_is_made_again(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bkill", "trades_by")
    send(settings, catalog, 800)
    claimed = claim(settings, catalog)
    land(spark, settings, catalog, claimed.cut)
    view = next(iter(catalog.views))
    path = table_paths.batch(settings, view, claimed.build)
    spark.range(5).write.format("delta").save(path)
    build(spark, settings, catalog, claimed)
    check_exact(settings, catalog, "bkill", claimed.build, claimed.cut)
    assert delta.version(path) == 0


@pytest.mark.slow
def test_landing_goes_on_where_the_archive_ends_and_takes_a_new_partition_from_0(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bpart")
    topic = topic_of(catalog)
    send(settings, catalog, 500)
    before = kafka_admin.end_offsets(settings, [topic])
    land(spark, settings, catalog, before)
    grow(settings, topic, 6)
    send(settings, catalog, 900, first=500)
    after = kafka_admin.end_offsets(settings, [topic])
    landed = land(spark, settings, catalog, after)
    assert spans(landed) == [(s.partition, s.start, s.end) for s in after.since(before)]
    assert {4, 5} <= {partition for partition, _, _ in spans(landed)}
    assert decoder_archive(settings, topic, catalog.decoder(topic)).ends == after


@pytest.mark.slow
def test_a_build_of_a_compacted_topic_that_was_not_landed_up_to_its_cut_is_refused(stack_and_spark: Stack) -> None:
    """Then the last records of the archive go, as when compaction removes them before they are landed."""
    settings, spark = stack_and_spark
    topic = replace(preferences.TOPIC, name="compact_preferences")
    view = replace(preferences_now.VIEW, name="compact_preferences_now", sources=(topic.name,))
    name, catalog = Name(topic.name), Catalog({Name(topic.name): topic}, {Name(view.name): view})

    def choose(theme: str) -> Cut:
        values = [f'{{"user_id":"u{n}","theme":"{theme}"}}'.encode() for n in range(40)]
        chosen = [OutgoingRecord(f"u{n}".encode(), value) for n, value in enumerate(values)]
        produce(settings, topic, chosen, draw=False).require_complete()
        return kafka_admin.end_offsets(settings, [name])

    land(spark, settings, catalog, choose("dark"))
    cut = choose("light")
    claimed = claim_at(settings, catalog, cut)
    with pytest.raises(Refused, match="the archive ends before the cut"):
        build(spark, settings, catalog, claimed)
    land(spark, settings, catalog, cut)
    archive = decoder_archive(settings, name, catalog.decoder(name))
    last = [f"(_partition = {partition} AND _offset = {end - 1})" for _, partition, end in cut.ends]
    assert delta.table(archive.path).delete(" OR ".join(last))["num_deleted_rows"] == len(last)
    assert decoder_archive(settings, name, catalog.decoder(name)).ends == cut
    assert land(spark, settings, catalog, cut)[0].spans == ()
    (built,) = build(spark, settings, catalog, claimed)
    counted = sum(counts.records for counts in built.counts.partitions.values())
    assert (built.ledger_ok, counted) == (True, 80 - len(last))


def grow(settings: Settings, topic: Name, count: int) -> None:
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

    for future in kafka_admin.admin_client(settings).create_partitions([NewPartitions(str(topic), count)]).values():
        future.result(timeout=20)

    def grown() -> None:
        assert kafka_admin.partitions(settings, [topic])[topic] == count

    retry_on(AssertionError, grown, 20, every=0.1)


def test_removed_records_are_refused_with_their_range(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bhead")
    topic = topic_of(catalog)
    send(settings, catalog, 400)
    ends = kafka_admin.end_offsets(settings, [topic])
    partition = ends.ends[0][1]
    delete_before(settings, topic, partition, 7)
    with pytest.raises(Refused) as refused:
        land(spark, settings, catalog, ends)
    expected = f"records are no longer in the log: {topic}, partition {partition}, offsets 0 to 6"
    assert refused.value.what == expected
    assert decoder_archive(settings, topic, catalog.decoder(topic)).ends == Cut()


def delete_before(settings: Settings, topic: Name, partition: int, offset: int) -> None:
    from confluent_kafka import TopicPartition

    request = [TopicPartition(str(topic), partition, offset)]
    for future in kafka_admin.admin_client(settings).delete_records(request).values():
        future.result(timeout=20)


@pytest.mark.slow
def test_another_decoder_decodes_the_older_archive_again_then_goes_on(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bdec")
    topic = topic_of(catalog)
    send(settings, catalog, 600, extra=POISON)
    cut = kafka_admin.end_offsets(settings, [topic])
    land(spark, settings, catalog, cut)
    for _, partition, _ in cut.ends:
        delete_before(settings, topic, partition, 1)
    old = catalog.topic(topic)
    changed = replace(old, fields=(*old.fields, Field("colour", required=False)))
    new_catalog = Catalog({topic: changed}, catalog.views)
    send(settings, catalog, 100, first=600)
    all_ends = kafka_admin.end_offsets(settings, [topic])
    (landed,) = land(spark, settings, new_catalog, all_ends)
    assert (landed.redecoded, landed.records) == (604, 100)
    assert decoder_archive(settings, topic, new_catalog.decoder(topic)).ends == all_ends
    claimed = claim_at(settings, new_catalog, all_ends)
    assert all(b.passed for b in passed(spark, settings, new_catalog, claimed))


def test_a_topic_that_was_created_again_is_refused(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bagain")
    topic = topic_of(catalog)
    send(settings, catalog, 200)
    land(spark, settings, catalog, kafka_admin.end_offsets(settings, [topic]))
    delete(settings, topic)
    send(settings, catalog, 900)
    with pytest.raises(Refused, match="deleted and created again"):
        land(spark, settings, catalog, kafka_admin.end_offsets(settings, [topic]))


@pytest.mark.slow
def test_the_gate_refuses_a_broken_check_and_one_that_crashes(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bgate")
    send(settings, catalog, 200)
    name = Name("bgate_trade_stats")
    checks = (Check("few", "trades < 3"), Check("crash", "1 / (trades - trades) > 0"), Check("fine", "trades > 0"))
    views = {**catalog.views, name: replace(catalog.view(name), checks=checks)}
    broken = Catalog(catalog.topics, views)
    claimed = claim(settings, broken)
    land(spark, settings, broken, claimed.cut)
    build(spark, settings, broken, claimed)
    with pytest.raises(Refused, match="bgate_trade_stats") as refused:
        require_passed(gate(spark, settings, broken, claimed))
    assert "bgate_trade_stats: few: rows without: trades < 3: " in refused.value.what
    assert "bgate_trade_stats: crash (critical): it cannot be evaluated: [DIVIDE_BY_ZERO]" in refused.value.what
    assert "fine" not in refused.value.what
    rows = {b.view: b.passed for b in read_builds(settings) if b.build == claimed.build}
    assert rows == {name: False, Name("bgate_trades_by_day"): True}


@pytest.mark.slow
def test_a_claim_is_the_end_of_the_newest_epoch_of_the_run(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "bclaim", "trades_by")
    send(settings, catalog, 200)
    run = new_run(settings, catalog)
    committed = commit_epoch(spark, settings, catalog, run)
    send(settings, catalog, 100, first=200)
    claimed = claim(settings, catalog, run.id)
    assert (claimed.run, claimed.epoch, claimed.cut) == (run.id, 0, committed.end)
    commit_epoch(spark, settings, catalog, run)
    later = claim(settings, catalog, run.id)
    assert (later.epoch, build_number(later.build)) == (1, build_number(claimed.build) + 1)


def test_a_second_landing_at_once_is_told_to_try_again(stack_and_spark: Stack) -> None:
    settings, spark = stack_and_spark
    catalog = catalog_of(settings, "btwo")
    send(settings, catalog, 50)
    cut = kafka_admin.end_offsets(settings, [topic_of(catalog)])
    with locks.hold(settings, "batch"), pytest.raises(TryAgain, match="the lease batch is held"):
        land(spark, settings, catalog, cut)
