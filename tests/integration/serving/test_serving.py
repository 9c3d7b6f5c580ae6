"""Publish, promote and status: the served views are exact at every step and never go back without a rollback."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name, joined
from infra.control.publications import Publication
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.lake import leases, table_paths
from infra.settings import Settings
from infra.trino import metastore
from serving.alarms import view_alarms
from serving.promote import serve_run
from serving.publish import publish
from serving.read import query
from serving.served_status import served_status
from tests.support.instances.layers import (
    POISON,
    START,
    built,
    catalog_of,
    check_served,
    claim_at,
    commit_epoch,
    expected_rows,
    log,
    new_run,
    send,
    shown,
    topic_of,
)


@pytest.fixture
def settings(stack: Settings) -> Settings:
    return stack


def pins(publication: Publication, catalog: Catalog) -> set[tuple[str, str | None, str | None, int]]:
    return {(p.mode, p.build, p.run, p.epoch) for view, p in publication.pins.items() if view in catalog.views}


def test_from_speed_alone_to_lambda_every_view_is_exact(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "sall")
    send(settings, catalog, 600, extra=POISON)
    run = new_run(settings, catalog)
    first = commit_epoch(spark, settings, catalog, run)
    served_alone = serve_run(settings, catalog, run.id, "first run")
    assert pins(served_alone, catalog) == {("speed", None, run.id, -1)}
    assert serve_run(settings, catalog, run.id, "again") == served_alone
    check_served(settings, catalog, "sall", first.end)
    send(settings, catalog, 300, first=600)
    second = commit_epoch(spark, settings, catalog, run)
    claimed = built(spark, settings, catalog)
    assert (claimed.run, claimed.epoch) == (run.id, 1)
    send(settings, catalog, 200, first=800)
    third = commit_epoch(spark, settings, catalog, run)
    published = publish(settings, catalog, claimed.build, why="test")
    assert pins(published, catalog) == {("lambda", claimed.build, run.id, 1)}
    assert publish(settings, catalog, claimed.build, why="test again") == published
    check_served(settings, catalog, "sall", third.end)
    check_status(settings, catalog, published, third.end)
    as_published = log(settings, topic_of(catalog), second.end)
    for view in catalog.views:
        assert shown(settings, catalog, view, published.seq) == expected_rows(view, "sall", as_published)
    with pytest.raises(Refused, match="pinned no build"):
        shown(settings, catalog, next(iter(catalog.views)), served_alone.seq)


def check_status(settings: Settings, catalog: Catalog, published: Publication, end: Cut) -> None:
    run = next(p.run for v, p in published.pins.items() if v in catalog.views)
    with leases.hold(settings, f"run_{run}"):
        state = served_status(settings, catalog)
        driven = view_alarms(settings, catalog)
    assert state.unhealthy == ()
    rate = 4 / sum(x.offsets for x in state.partitions)
    assert [(x.ledger_off, x.quarantine_rate, x.epoch_age_seconds) for x in driven] == [(0, rate, 0.0)] * len(driven)
    assert {x.view for x in driven} == set(catalog.views)
    assert all((x.epoch_age_seconds or 0) > 0 for x in view_alarms(settings, catalog))
    assert {(v.mode, v.lag, v.epoch, v.publication) for v in state.views} == {("lambda", 0, 2, published.seq)}
    assert all(v.age is not None and 0 <= v.age < 600 for v in state.views)
    assert [(x.partition, x.offsets) for x in state.partitions] == [(p, e) for _, p, e in end.ends]
    assert sum(x.quarantined for x in state.partitions) == 4
    assert all(x.ok for x in state.partitions)
    assert {x.served for x in state.rows} == {1_100, 5_500}
    stopped = served_status(settings, catalog).unhealthy
    assert stopped == (f"no speed process drives run {run}: `lk speed start` starts one",)
    rows = query(settings, 'SELECT "view", mode, run, epoch, publication FROM status').dicts()
    catalog_rows = [row for row in rows if row["view"] in catalog.views]
    assert {(r["mode"], r["run"], r["epoch"], r["publication"]) for r in catalog_rows} == {
        ("lambda", run, 1, published.seq)
    }


def test_a_build_that_did_not_pass_or_was_not_built_is_refused(settings: Settings) -> None:
    catalog = catalog_of(settings, "snot")
    send(settings, catalog, 20)
    claimed = claim_at(settings, catalog, kafka_admin.end_offsets(settings, catalog.topics))
    with pytest.raises(Refused, match="have not passed the gate: snot_trade_stats, snot_trades_by_day"):
        publish(settings, catalog, claimed.build, why="test")
    with pytest.raises(Refused, match="no build b999999"):
        publish(settings, catalog, Name("b999999"), why="test")


@pytest.mark.slow
def test_a_cut_that_is_no_epochs_end_is_refused(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "send", "trades_by")
    send(settings, catalog, 100)
    claimed = built(spark, settings, catalog)
    send(settings, catalog, 100, first=100)
    run = new_run(settings, catalog)
    committed = commit_epoch(spark, settings, catalog, run)
    serve_run(settings, catalog, run.id, "test")
    with pytest.raises(Refused, match="was not claimed as the end of an epoch of run"):
        publish(settings, catalog, claimed.build, why="test")
    check_served(settings, catalog, "send", committed.end)


@pytest.mark.slow
def test_a_new_run_takes_over_when_it_has_reached_what_is_served(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "snew", "trades_by")
    send(settings, catalog, 100)
    old = new_run(settings, catalog)
    commit_epoch(spark, settings, catalog, old)
    serve_run(settings, catalog, old.id, "first")
    claimed = built(spark, settings, catalog)
    publish(settings, catalog, claimed.build, why="build")
    send(settings, catalog, 100, first=100)
    reached = commit_epoch(spark, settings, catalog, old)
    new = new_run(settings, catalog, claimed.cut)
    with pytest.raises(TryAgain, match="has not reached what is served"):
        serve_run(settings, catalog, new.id, "too early", patience=0.5)
    check_served(settings, catalog, "snew", reached.end)
    commit_epoch(spark, settings, catalog, new)
    promotion = serve_run(settings, catalog, new.id, "takes over")
    assert pins(promotion, catalog) == {("lambda", claimed.build, new.id, -1)}
    check_served(settings, catalog, "snew", reached.end)


@pytest.mark.slow
def test_a_run_that_fits_no_build_is_refused(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "sfit", "trades_by")
    send(settings, catalog, 50)
    claimed = built(spark, settings, catalog)
    publish(settings, catalog, claimed.build, why="build")
    short_run = new_run(settings, catalog, Cut(claimed.cut.ends[:1]))
    with pytest.raises(Refused, match="can serve no view"):
        serve_run(settings, catalog, short_run.id, "odd")


def test_events_late_by_days_add_to_their_old_windows_before_and_after_a_batch(
    settings: Settings, spark: SparkSession
) -> None:
    catalog = catalog_of(settings, "slate")
    send(settings, catalog, 100, extra=late(days=2))
    run = new_run(settings, catalog)
    serve_run(settings, catalog, run.id, "first run")
    before = commit_epoch(spark, settings, catalog, run)
    check_served(settings, catalog, "slate", before.end)
    publish(settings, catalog, built(spark, settings, catalog).build, why="test")
    for days in (2, 30, 8_000):
        send(settings, catalog, 10, first=100 + days, extra=late(days))
        after = commit_epoch(spark, settings, catalog, run)
        check_served(settings, catalog, "slate", after.end)
    counted = Counter[datetime]()
    for (_, day), row in shown(settings, catalog, Name("slate_trades_by_day")).items():
        counted[day] += row["trades"]
    oldest = datetime.fromtimestamp(START / 1_000, UTC) - timedelta(days=8_000)
    assert min(counted) == oldest.replace(hour=0, minute=0, second=0, microsecond=0)
    assert counted[min(counted)] == 3
    assert sum(counted.values()) == 100 + 30 + 12


def late(days: int) -> list[OutgoingRecord]:
    """Three trades of one ticker, ``days`` before the others."""
    at = START - days * 86_400_000
    value = '{{"type":"bid","ticker":"LATE","price":1.50,"size":{size},"event_time":{at},"id":"late"}}'
    return [OutgoingRecord(b"LATE", value.format(size=size, at=at).encode()) for size in (1, 2, 3)]


def test_a_planted_defect_in_one_partial_row_is_found(settings: Settings, spark: SparkSession) -> None:
    """The oracle finds both defects. The record counts of `lk status` find a lost row, and a table that Trino lost."""
    catalog = catalog_of(settings, "splant", "trades_by")
    (view,) = catalog.views
    send(settings, catalog, 100)
    run = new_run(settings, catalog)
    committed = commit_epoch(spark, settings, catalog, run)
    serve_run(settings, catalog, run.id, "test")
    check_served(settings, catalog, "splant", committed.end)
    table = DeltaTable(table_paths.speed(settings, run.id, view))
    row = table.to_pyarrow_table().slice(0, 1).to_pylist()[0]
    predicate = f"ticker = '{row['ticker']}' AND day = '{row['day'].isoformat()}'"
    before = table.version()
    for counted in (False, True):
        if counted:
            table.delete(predicate)
        else:
            table.update({"volume": "volume + 1"}, predicate=predicate)
        assert table.version() > before
        with pytest.raises(AssertionError):
            check_served(settings, catalog, "splant", committed.end)
        wrong = [reason for reason in served_status(settings, catalog).unhealthy if "rows" in reason]
        assert [view in reason for reason in wrong] == [True] * counted
        table.restore(before)
        before = table.version()
        check_served(settings, catalog, "splant", committed.end)
    name, relative = joined(view, run.id), table_paths.relative(settings, table_paths.speed(settings, run.id, view))
    metastore.unregister(settings, "speed", name)
    assert any(f"'lake.speed.{name}' does not exist" in reason for reason in served_status(settings, catalog).unhealthy)
    metastore.register(settings, "speed", name, relative)
    check_served(settings, catalog, "splant", committed.end)
