"""Publish, take over, repair and tell: what is served is exact at every step, and never goes back by itself."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.land import land
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.ident import Name
from infra import control, faults, kafka, lake, leases, served, trino
from infra.control import Claim, Publication
from infra.local import stack as local
from infra.settings import Settings
from serving import change, repair
from serving.publish import publish
from serving.query import query
from serving.status import status
from serving.takeover import serve_run
from tests.stack.layers import POISON, catalog_of, claim_at, epoch, log, new_run, send, shown, topic_of, wanted


@pytest.fixture
def settings(stack: Settings) -> Settings:
    return stack


def built(spark: SparkSession, settings: Settings, catalog: Catalog, run: Name | None = None) -> Claim:
    claimed = claim(settings, catalog, run)
    land(spark, settings, catalog, claimed.cut)
    build(spark, settings, catalog, claimed)
    return claimed


def check(settings: Settings, catalog: Catalog, prefix: str, end: Cut) -> None:
    records = log(settings, topic_of(catalog), end)
    for view in catalog.views:
        assert shown(settings, catalog, view) == wanted(view, prefix, records)


def pins(publication: Publication, catalog: Catalog) -> set[tuple[str, str | None, str | None, int]]:
    return {(p.mode, p.build, p.run, p.epoch) for view, p in publication.pins.items() if view in catalog.views}


def arm(settings: Settings, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    (settings.data / faults.MARKER).touch()
    monkeypatch.setenv(faults.VARIABLE, f"{point}:raise")
    faults.arm(settings)
    monkeypatch.delenv(faults.VARIABLE)


def test_from_speed_alone_to_lambda_every_view_is_exact(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "sall")
    send(settings, catalog, 600, extra=POISON)
    run = new_run(settings, catalog)
    first = epoch(spark, settings, catalog, run)
    served_alone = serve_run(settings, catalog, run.id, "first run")
    assert pins(served_alone, catalog) == {("speed", None, run.id, -1)}
    assert serve_run(settings, catalog, run.id, "again") == served_alone
    check(settings, catalog, "sall", first.end)
    send(settings, catalog, 300, first=600)
    second = epoch(spark, settings, catalog, run)
    claimed = built(spark, settings, catalog)
    assert (claimed.run, claimed.epoch) == (run.id, 1)
    send(settings, catalog, 200, first=800)
    third = epoch(spark, settings, catalog, run)
    published = publish(settings, catalog, claimed.build, why="test")
    assert pins(published, catalog) == {("lambda", claimed.build, run.id, 1)}
    assert publish(settings, catalog, claimed.build, why="test again") == published
    check(settings, catalog, "sall", third.end)
    check_status(settings, catalog, published, third.end)
    as_published = log(settings, topic_of(catalog), second.end)
    for view in catalog.views:
        assert shown(settings, catalog, view, published.seq) == wanted(view, "sall", as_published)
    with pytest.raises(Refused, match="pinned no build"):
        shown(settings, catalog, next(iter(catalog.views)), served_alone.seq)


def check_status(settings: Settings, catalog: Catalog, published: Publication, end: Cut) -> None:
    run = next(p.run for v, p in published.pins.items() if v in catalog.views)
    with leases.hold(settings, f"run_{run}"):
        state = status(settings, catalog)
    assert state.unhealthy == ()
    assert {(v.mode, v.lag, v.epoch, v.publication) for v in state.views} == {("lambda", 0, 2, published.seq)}
    assert all(v.age is not None and 0 <= v.age < 600 for v in state.views)
    assert [(x.partition, x.offsets) for x in state.partitions] == [(p, e) for _, p, e in end.ends]
    assert sum(x.quarantined for x in state.partitions) == 4
    assert all(x.ok for x in state.partitions)
    assert {x.served for x in state.rows} == {1_100, 5_500}
    stopped = status(settings, catalog).unhealthy
    assert stopped == (f"the speed process of run {run} does not run: `lk speed start`",)
    rows = query(settings, 'SELECT "view", mode, run, epoch, publication FROM status').dicts()
    mine = [row for row in rows if row["view"] in catalog.views]
    assert {(r["mode"], r["run"], r["epoch"], r["publication"]) for r in mine} == {("lambda", run, 1, published.seq)}


def test_columns_keep_their_comments_over_every_publication(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "scom", "trade_stats")
    view = Name("scom_trade_stats")
    send(settings, catalog, 50)
    publish(settings, catalog, built(spark, settings, catalog).build, why="one")
    before = trino.query(settings, f"SHOW COLUMNS FROM lake.serving.{view}").rows
    assert {row[0]: row[3] for row in before}["price_avg"] == "Average price of a trade, six decimals"
    entry = Path(settings.lake_root) / trino.METASTORE / "serving" / view / ".trinoSchema"
    written = entry.stat().st_mtime_ns
    send(settings, catalog, 50, first=50)
    publish(settings, catalog, built(spark, settings, catalog).build, why="two")
    assert entry.stat().st_mtime_ns == written
    assert trino.query(settings, f"SHOW COLUMNS FROM lake.serving.{view}").rows == before
    check(settings, catalog, "scom", kafka.ends(settings, catalog.topics))


def test_a_slow_batch_behind_a_newer_one_is_refused(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "sslow", "trades_by")
    send(settings, catalog, 100)
    slow = built(spark, settings, catalog)
    send(settings, catalog, 100, first=100)
    newer = built(spark, settings, catalog)
    done = publish(settings, catalog, newer.build, why="newer")
    with pytest.raises(Refused, match="would go back from offset"):
        publish(settings, catalog, slow.build, why="slow")
    assert repair.last_done(settings) == done
    check(settings, catalog, "sslow", newer.cut)
    back = publish(settings, catalog, slow.build, why="by hand", rollback=True)
    assert back.kind == "rollback"
    check(settings, catalog, "sslow", slow.cut)


def test_a_build_that_did_not_pass_or_was_not_built_is_refused(settings: Settings) -> None:
    catalog = catalog_of(settings, "snot")
    send(settings, catalog, 20)
    claimed = claim_at(settings, catalog, kafka.ends(settings, catalog.topics))
    with pytest.raises(Refused, match="have not passed the gate: snot_trade_stats, snot_trades_by_day"):
        publish(settings, catalog, claimed.build, why="test")
    with pytest.raises(Refused, match="no build b999999"):
        publish(settings, catalog, Name("b999999"), why="test")


def test_a_cut_that_is_no_epochs_end_is_refused(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "send", "trades_by")
    send(settings, catalog, 100)
    claimed = built(spark, settings, catalog)
    send(settings, catalog, 100, first=100)
    run = new_run(settings, catalog)
    done = epoch(spark, settings, catalog, run)
    serve_run(settings, catalog, run.id, "test")
    with pytest.raises(Refused, match="was not claimed as the end of an epoch of run"):
        publish(settings, catalog, claimed.build, why="test")
    check(settings, catalog, "send", done.end)


@pytest.mark.parametrize(
    "point", ["serving.0_before_intent", "serving.1_after_intent", "serving.2_between_views", "serving.3_before_done"]
)
def test_an_interrupted_publication_is_finished_by_the_next_verb(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    prefix = f"sint{point[8]}"
    catalog = catalog_of(settings, prefix)
    send(settings, catalog, 60)
    publish(settings, catalog, built(spark, settings, catalog).build, why="before")
    send(settings, catalog, 60, first=60)
    claimed = built(spark, settings, catalog)
    arm(settings, monkeypatch, point)
    with pytest.raises(faults.Injected):
        publish(settings, catalog, claimed.build, why="interrupted")
    faults.arm(settings)
    assert (repair.open_intent(settings) is None) == (point == "serving.0_before_intent")
    if point != "serving.0_before_intent":
        assert any("was begun and not finished" in reason for reason in status(settings, catalog).unhealthy)
    done = publish(settings, catalog, claimed.build, why="again")
    assert done.why == ("again" if point == "serving.0_before_intent" else "interrupted")
    assert (done.state, repair.open_intent(settings)) == ("done", None)
    check(settings, catalog, prefix, claimed.cut)


def test_an_intent_whose_tables_are_gone_is_reverted(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = catalog_of(settings, "srev", "trades_by")
    send(settings, catalog, 60)
    before = built(spark, settings, catalog)
    publish(settings, catalog, before.build, why="before")
    send(settings, catalog, 60, first=60)
    claimed = built(spark, settings, catalog)
    arm(settings, monkeypatch, "serving.2_between_views")
    with pytest.raises(faults.Injected):
        publish(settings, catalog, claimed.build, why="interrupted")
    faults.arm(settings)
    lake.remove(lake.batch(settings, next(iter(catalog.views)), claimed.build))
    repair.repair(settings, catalog)
    assert control.publications(settings)[-1].state == "reverted"
    check(settings, catalog, "srev", before.cut)


@pytest.mark.parametrize("which", ["outer", "pinned", "status", "gone", "foreign"])
def test_a_broken_view_is_seen_and_made_again(settings: Settings, spark: SparkSession, which: str) -> None:
    catalog = catalog_of(settings, f"sb{which}", "trades_by")
    send(settings, catalog, 40)
    done = publish(settings, catalog, built(spark, settings, catalog).build, why="test")
    view = next(iter(catalog.views))
    inner = served.served(settings, [view])[view].inner
    schema, name = {"pinned": ("pinned", inner), "status": ("serving", "status")}.get(which, ("serving", view))
    entry = Path(settings.lake_root) / trino.METASTORE / schema / name / ".trinoSchema"
    if which == "gone":
        trino.drop_view(settings, schema, name)
    elif which == "foreign":
        trino.replace_view(settings, schema, name, "SELECT 1 AS a")
    else:
        entry.write_bytes(entry.read_bytes()[:100])
    if which != "status":
        assert any(f"view {view} " in reason for reason in status(settings, catalog).unhealthy)
    assert repair.repair(settings, catalog) == (Name("status") if which == "status" else view,)
    assert repair.repair(settings, catalog) == ()
    check(settings, catalog, f"sb{which}", done.pins[view].cut)


def test_a_new_run_takes_over_when_it_has_reached_what_is_served(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "snew", "trades_by")
    send(settings, catalog, 100)
    old = new_run(settings, catalog)
    epoch(spark, settings, catalog, old)
    serve_run(settings, catalog, old.id, "first")
    claimed = built(spark, settings, catalog)
    publish(settings, catalog, claimed.build, why="build")
    send(settings, catalog, 100, first=100)
    reached = epoch(spark, settings, catalog, old)
    new = new_run(settings, catalog, claimed.cut)
    with pytest.raises(TryAgain, match="has not reached what is served"):
        serve_run(settings, catalog, new.id, "too early", patience=0.5)
    check(settings, catalog, "snew", reached.end)
    epoch(spark, settings, catalog, new)
    done = serve_run(settings, catalog, new.id, "takes over")
    assert pins(done, catalog) == {("lambda", claimed.build, new.id, -1)}
    check(settings, catalog, "snew", reached.end)


def test_a_run_that_fits_no_build_is_refused(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "sfit", "trades_by")
    send(settings, catalog, 50)
    claimed = built(spark, settings, catalog)
    publish(settings, catalog, claimed.build, why="build")
    odd = new_run(settings, catalog, Cut(claimed.cut.ends[:1]))
    with pytest.raises(Refused, match="can serve no view"):
        serve_run(settings, catalog, odd.id, "odd")


def test_a_publisher_that_lost_its_lease_changes_nothing(settings: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(settings, "slost", "trades_by")
    send(settings, catalog, 30)
    claimed = built(spark, settings, catalog)
    done = publish(settings, catalog, claimed.build, why="test")
    with control.hold(settings, "control") as lease:
        path = lake.control(settings, leases.TABLE)
        stale = leases.Lease(lease.name, lease.generation - 1, lease.holder, path)
        late = replace(done, seq=done.seq + 1, at=datetime.now(UTC), evidence=json.dumps({}))
        with pytest.raises(TryAgain, match="lease lost"):
            change.put(settings, catalog, stale, late)
        with pytest.raises(TryAgain, match="lease lost"):
            control.add_publication(settings, stale, late)
    assert repair.last_done(settings) == done


def test_a_trino_killed_in_the_middle_of_a_publication(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = catalog_of(settings, "skill")
    send(settings, catalog, 40)
    publish(settings, catalog, built(spark, settings, catalog).build, why="before")
    send(settings, catalog, 40, first=40)
    claimed = built(spark, settings, catalog)
    (trino_state,) = [state for state in local.state(settings) if state.name == "trino"]
    assert trino_state.pid

    def kill(point: str) -> None:
        if point == "serving.2_between_views":
            psutil.Process(trino_state.pid).kill()

    monkeypatch.setattr(faults, "reach", kill)
    with pytest.raises(TryAgain, match="Trino does not answer"):
        publish(settings, catalog, claimed.build, why="interrupted")
    monkeypatch.undo()
    assert any("Trino does not answer" in reason for reason in status(settings, catalog).unhealthy)
    local.up(settings)
    done = publish(settings, catalog, claimed.build, why="again")
    assert (done.state, done.why) == ("done", "interrupted")
    check(settings, catalog, "skill", claimed.cut)
