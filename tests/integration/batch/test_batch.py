"""A build of the landed log equals the oracle, also after a killed build."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.view import Check
from infra.control.builds import build_number, read_builds
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.lake import delta, table_paths
from infra.lake.archive import decoder_archive
from infra.settings import Settings
from infra.trino import metastore
from tests.support.instances.layers import (
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
from views.programs import preferences, preferences_now


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


@pytest.mark.parametrize("writer", ["delta_rs", "spark"])
def test_a_build_of_the_landed_log_is_exact_and_all_of_it_can_be_repeated(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    if writer == "spark":  # as for many records
        monkeypatch.setattr("batch.land._FEW", 0)
        monkeypatch.setattr("batch.build._FEW", 0)
    prefix = f"bone_{writer}"
    catalog = catalog_of(stack, prefix)
    send(stack, catalog, 3_000, extra=POISON)
    claimed = claim(stack, catalog)
    assert (claimed.run, claimed.epoch, claimed.cut) == (None, -1, kafka_admin.end_offsets(stack, catalog.topics))
    landed = land(spark, stack, catalog, claimed.cut)
    assert [topic_landed.records for topic_landed in landed] == [3_004]
    built = build(spark, stack, catalog, claimed)
    assert [(b.passed, b.ledger_ok, b.how) for b in built] == [(None, True, "full")] * 2
    built = passed(spark, stack, catalog, claimed)
    assert [(b.passed, b.ledger_ok, b.how) for b in built] == [(True, True, "full")] * 2
    check_exact(stack, catalog, prefix, claimed.build, claimed.cut)
    for view in catalog.views:
        opened = delta.table(table_paths.batch(stack, view, claimed.build))
        engine = "delta-rs" if writer == "delta_rs" else "Delta-Lake"
        assert engine in opened.history(1)[0]["engineInfo"]
        decimals = {field.name for field in opened.schema().fields if "decimal" in str(field.type)}
        bounded = opened.metadata().configuration["delta.dataSkippingStatsColumns"].split(",")
        assert decimals
        assert decimals.isdisjoint(bounded)
        assert set(bounded) > {column.name for column in catalog.view(view).identifying_columns}
    assert claim(stack, catalog) == claimed
    assert land(spark, stack, catalog, claimed.cut)[0].spans == ()
    assert passed(spark, stack, catalog, claimed) == built
    counted = metastore.query(stack, f"SELECT count(*), count(_error) FROM archive.{topic_of(catalog)}").rows
    assert counted == ((3_004, 4),)


def test_an_incremental_build_equals_the_full_one(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "binc")
    send(stack, catalog, 2_000)
    first = claim(stack, catalog)
    land(spark, stack, catalog, first.cut)
    passed(spark, stack, catalog, first)
    send(stack, catalog, 1_500, first=1_000, extra=POISON)
    second = claim(stack, catalog)
    land(spark, stack, catalog, second.cut)
    added = passed(spark, stack, catalog, second, incremental=True)
    assert [(b.how, b.passed) for b in added] == [("incremental", True)] * 2
    check_exact(stack, catalog, "binc", second.build, second.cut)
    full = claim_at(stack, catalog, second.cut)
    again = passed(spark, stack, catalog, full)
    for incremental_build, full_build in zip(added, again, strict=True):
        assert incremental_build.rows == full_build.rows
        assert built_rows(stack, catalog, incremental_build.view, incremental_build.build) == built_rows(
            stack, catalog, full_build.view, full_build.build
        )


@pytest.mark.slow
def test_an_incremental_build_says_why_it_is_a_full_one(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bwhy", "trades_by")
    send(stack, catalog, 300)
    first = claim(stack, catalog)
    land(spark, stack, catalog, first.cut)
    assert [b.how for b in build(spark, stack, catalog, first, incremental=True)] == ["full"]
    notes = [b.counts.note for b in read_builds(stack) if b.build == first.build]
    assert all("there is no earlier build" in note for note in notes)


@pytest.mark.slow
def test_a_killed_build_leaves_a_folder_that_is_made_again(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bkill", "trades_by")
    send(stack, catalog, 800)
    claimed = claim(stack, catalog)
    land(spark, stack, catalog, claimed.cut)
    view = next(iter(catalog.views))
    path = table_paths.batch(stack, view, claimed.build)
    spark.range(5).write.format("delta").save(path)
    build(spark, stack, catalog, claimed)
    check_exact(stack, catalog, "bkill", claimed.build, claimed.cut)
    assert delta.version(path) == 0


@pytest.mark.slow
def test_a_build_of_a_compacted_topic_that_was_not_landed_up_to_its_cut_is_refused(
    stack: Settings, spark: SparkSession
) -> None:
    """Then the last records of the archive go, as when compaction removes them before they are landed."""
    topic = replace(preferences.TOPIC, name="compact_preferences")
    view = replace(preferences_now.VIEW, name="compact_preferences_now", sources=(topic.name,))
    name, catalog = Name(topic.name), Catalog({Name(topic.name): topic}, {Name(view.name): view})

    def choose(theme: str) -> Cut:
        values = [f'{{"user_id":"u{n}","theme":"{theme}"}}'.encode() for n in range(40)]
        chosen = [OutgoingRecord(f"u{n}".encode(), value) for n, value in enumerate(values)]
        produce(stack, topic, chosen, draw=False).require_complete()
        return kafka_admin.end_offsets(stack, [name])

    land(spark, stack, catalog, choose("dark"))
    cut = choose("light")
    claimed = claim_at(stack, catalog, cut)
    with pytest.raises(Refused, match="the archive ends before the cut"):
        build(spark, stack, catalog, claimed)
    land(spark, stack, catalog, cut)
    archive = decoder_archive(stack, name, catalog.decoder(name))
    last = [f"(_partition = {partition} AND _offset = {end - 1})" for _, partition, end in cut.ends]
    assert delta.table(archive.path).delete(" OR ".join(last))["num_deleted_rows"] == len(last)
    assert decoder_archive(stack, name, catalog.decoder(name)).ends == cut
    assert land(spark, stack, catalog, cut)[0].spans == ()
    (built,) = build(spark, stack, catalog, claimed)
    counted = sum(counts.records for counts in built.counts.partitions.values())
    assert (built.ledger_ok, counted) == (True, 80 - len(last))


@pytest.mark.slow
def test_the_gate_refuses_a_broken_check_and_one_that_crashes(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bgate")
    send(stack, catalog, 200)
    name = Name("bgate_trade_stats")
    checks = (Check("few", "trades < 3"), Check("crash", "1 / (trades - trades) > 0"), Check("fine", "trades > 0"))
    views = {**catalog.views, name: replace(catalog.view(name), checks=checks)}
    broken = Catalog(catalog.topics, views)
    claimed = claim(stack, broken)
    land(spark, stack, broken, claimed.cut)
    build(spark, stack, broken, claimed)
    with pytest.raises(Refused, match="bgate_trade_stats") as refused:
        require_passed(gate(spark, stack, broken, claimed))
    assert "bgate_trade_stats: few: rows without: trades < 3: " in refused.value.what
    assert "bgate_trade_stats: crash (critical): it cannot be evaluated: [DIVIDE_BY_ZERO]" in refused.value.what
    assert "fine" not in refused.value.what
    rows = {b.view: b.passed for b in read_builds(stack) if b.build == claimed.build}
    assert rows == {name: False, Name("bgate_trades_by_day"): True}


@pytest.mark.slow
def test_a_claim_is_the_end_of_the_newest_epoch_of_the_run(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "bclaim", "trades_by")
    send(stack, catalog, 200)
    run = new_run(stack, catalog)
    committed = commit_epoch(spark, stack, catalog, run)
    send(stack, catalog, 100, first=200)
    claimed = claim(stack, catalog, run.id)
    assert (claimed.run, claimed.epoch, claimed.cut) == (run.id, 0, committed.end)
    commit_epoch(spark, stack, catalog, run)
    later = claim(stack, catalog, run.id)
    assert (later.epoch, build_number(later.build)) == (1, build_number(claimed.build) + 1)
