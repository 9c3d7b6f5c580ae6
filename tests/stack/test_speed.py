"""The speed layer on real servers: every epoch exact against plain Python, whatever is done to the run in between."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import speed.epoch
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.ident import Name, joined, quoted
from core.merge import part_sql, serving_sql
from core.topic import Rule
from infra import definitions, delta, kafka, lake, leases, runs, trino
from infra.local import process
from infra.local import stack as servers
from infra.runs import Run
from infra.settings import Settings
from speed import control, fold, job
from speed.maintenance import Maintenance
from speed.quarantine import list_quarantined
from speed.sink import Sink
from tests import oracle
from tests.oracle import Rows
from tests.stack.layers import POISON, catalog_of, log, send, topic_of, wanted

VIEWS = ("trade_stats", "trades_by_day")


@contextmanager
def running(
    settings: Settings, spark: SparkSession, catalog: Catalog, run: Run
) -> Iterator[tuple[StreamingQuery, Sink]]:
    """The query of a run; at the end it is stopped between epochs, and what broke it is raised."""
    with job.driving(spark, settings, catalog, run) as (query, sink):
        yield query, sink
        job.finish(query, sink)


def catch_up(settings: Settings, spark: SparkSession, catalog: Catalog, run: Run) -> None:
    with running(settings, spark, catalog, run) as (query, _):
        query.processAllAvailable()


def declared(settings: Settings, prefix: str, start: Cut | None = None) -> tuple[Catalog, Run]:
    catalog = catalog_of(settings, prefix)
    return catalog, control.declare(settings, catalog, start or Cut())


def served(settings: Settings, catalog: Catalog, run: Run, view: str) -> Rows:
    """The run's partials as the serving view would merge them; a key that comes twice fails."""
    definition, table = catalog.view(view), joined(Name(view), run.id)
    trino.register(settings, "speed", table, lake.relative(settings, lake.speed(settings, run.id, Name(view))))
    result = trino.query(settings, serving_sql(definition, [part_sql(definition, quoted("lake", "speed", table))]))
    width = len(definition.key_columns)
    found: Rows = {}
    for row in result.rows:
        assert row[:width] not in found
        found[tuple(row[:width])] = dict(zip(result.columns[width:], row[width:], strict=True))
    return found


def check(settings: Settings, catalog: Catalog, run: Run, prefix: str) -> None:
    """Every view of the run is what plain Python makes of the same log, and the manifest accounts for each offset."""
    records = log(settings, topic_of(catalog))
    for view in VIEWS:
        assert served(settings, catalog, run, f"{prefix}_{view}") == wanted(Name(f"{prefix}_{view}"), prefix, records)
    there = runs.epochs(settings, run.id)
    assert [epoch.number for epoch in there] == list(range(len(there)))
    assert [epoch.start for epoch in there] == [run.start, *(epoch.end for epoch in there[:-1])]
    assert there[-1].end == kafka.ends(settings, run.topics)
    counts = [count for epoch in there for count in epoch.counted.values()]
    bad = oracle.quarantined(records)
    assert sum(count.records for count in counts) == len(records)
    assert sum(count.quarantined for count in counts) == len(bad)
    assert sum(count.decoded for count in counts) == len(records) - len(bad)
    assert sum(epoch.rows[Name(f"{prefix}_trade_stats")] for epoch in there) == 5 * (len(records) - len(bad))


def test_every_epoch_is_exact_and_counted(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "exact")
    with running(stack, spark, catalog, run) as (query, _):
        for part in range(3):
            send(stack, catalog, 300, 300 * part, POISON if part == 1 else ())
            query.processAllAvailable()
    assert len(runs.epochs(stack, run.id)) >= 3
    check(stack, catalog, run, "exact")
    assert kafka.committed(stack, run.id, run.topics) == kafka.ends(stack, run.topics)


def test_big_epochs_written_by_spark_give_the_same(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("SMALL", "FEW_ROWS", "_FEW_BAD"):
        monkeypatch.setattr(speed.epoch, limit, 0)
    catalog, run = declared(stack, "big")
    send(stack, catalog, 400, 0, POISON)
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        send(stack, catalog, 400, 400, POISON)
        query.processAllAvailable()
    check(stack, catalog, run, "big")
    assert len(list_quarantined(stack, catalog=catalog)) == 2 * len(POISON)


def test_catching_up_takes_bounded_epochs(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "bounded")
    send(stack, catalog, 1_000)
    catch_up(stack.model_copy(update={"max_offsets_per_trigger": 250}), spark, catalog, run)
    sizes = [epoch.end.size_since(epoch.start) for epoch in runs.epochs(stack, run.id)]
    assert sum(sizes) == 1_000
    assert max(sizes) <= 260  # Spark rounds each partition's share up
    check(stack, catalog, run, "bounded")


def test_an_epoch_delivered_twice_is_skipped(stack: Settings, spark: SparkSession) -> None:
    """As after a kill between the manifest row and Spark's commit log."""
    catalog, run = declared(stack, "twice")
    send(stack, catalog, 200)
    catch_up(stack, spark, catalog, run)
    before = runs.epochs(stack, run.id)
    commits = Path(lake.checkpoint(stack, run.id)) / "commits"
    for name in (str(before[-1].number), f".{before[-1].number}.crc"):
        (commits / name).unlink()
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        assert runs.epochs(stack, run.id) == before
        send(stack, catalog, 100, 200)
        query.processAllAvailable()
    check(stack, catalog, run, "twice")


def test_a_partition_added_while_running_starts_at_0(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, run = declared(stack, "wider")
    topic = topic_of(catalog)
    with running(stack, spark, catalog, run) as (query, _):
        send(stack, catalog, 200)
        query.processAllAvailable()
        made = kafka.admin(stack).create_partitions([NewPartitions(str(topic), 6)], operation_timeout=30)
        made[str(topic)].result(30)
        send(stack, catalog, 600, 200)
        query.processAllAvailable()
    ends = kafka.ends(stack, [topic])
    assert ends.end(topic, 4) + ends.end(topic, 5) > 0
    check(stack, catalog, run, "wider")


def test_a_topic_made_again_is_refused(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "remade")
    topic = topic_of(catalog)
    send(stack, catalog, 100)
    catch_up(stack, spark, catalog, run)
    before = runs.epochs(stack, run.id)
    kafka.admin(stack).delete_topics([str(topic)], operation_timeout=30)[str(topic)].result(30)
    send(stack, catalog, 300)
    with pytest.raises(Refused, match="deleted and made again"):
        catch_up(stack, spark, catalog, run)
    assert runs.epochs(stack, run.id) == before


def test_a_topic_made_again_under_a_running_job_stops_it(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "swapped")
    topic = topic_of(catalog)
    send(stack, catalog, 100)
    with job.driving(spark, stack, catalog, run) as (query, sink):
        query.processAllAvailable()
        before = runs.epochs(stack, run.id)
        kafka.admin(stack).delete_topics([str(topic)], operation_timeout=30)[str(topic)].result(30)
        send(stack, catalog, 300)
        with pytest.raises(StreamingQueryException):
            query.awaitTermination(120)
        with pytest.raises(Refused, match="deleted and made again"):
            job.finish(query, sink)
    assert runs.epochs(stack, run.id) == before


def test_records_gone_before_they_were_read_are_named(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "gone")
    topic = topic_of(catalog)
    send(stack, catalog, 400)
    place = TopicPartition(str(topic), 2, 3)
    kafka.admin(stack).delete_records([place])[TopicPartition(str(topic), 2)].result(30)
    with pytest.raises(Refused, match="gone_trades, partition 2, offsets 0 to 3"):
        catch_up(stack, spark, catalog, run)
    assert runs.epochs(stack, run.id) == ()


def test_another_definition_is_refused(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "changed")
    topic = catalog.topic("changed_trades")
    rules = (*topic.rules, Rule("small", "size < 10"))
    other = Catalog({Name(topic.name): replace(topic, rules=rules)}, catalog.views)
    with pytest.raises(Refused, match="topic changed_trades, view changed_trade_stats"):
        catch_up(stack, spark, other, run)


def test_a_lost_checkpoint_is_refused(stack: Settings, spark: SparkSession) -> None:
    """Starting from its declared start again, the run would skip every epoch as already done."""
    catalog, run = declared(stack, "lost")
    send(stack, catalog, 50)
    catch_up(stack, spark, catalog, run)
    shutil.rmtree(lake.checkpoint(stack, run.id))
    with pytest.raises(Refused, match="checkpoint is at epoch -1, the manifest at epoch"):
        catch_up(stack, spark, catalog, run)


def test_two_processes_cannot_drive_one_run(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "single")
    with running(stack, spark, catalog, run), pytest.raises(TryAgain, match="is held"):
        catch_up(stack, spark, catalog, run)


def test_a_run_starts_at_its_declared_start(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "later")
    send(stack, catalog, 300)
    start = kafka.ends(stack, [topic_of(catalog)])
    run = control.declare(stack, catalog, start)
    send(stack, catalog, 200, 300)
    catch_up(stack, spark, catalog, run)
    records = [r for r in log(stack, topic_of(catalog)) if r.offset >= start.end("later_trades", r.partition)]
    assert len(records) == 200
    for view in VIEWS:
        assert served(stack, catalog, run, f"later_{view}") == wanted(Name(f"later_{view}"), "later", records)


def test_quarantine_lists_each_bad_record_once_with_its_rule(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "poison")
    send(stack, catalog, 100, 0, POISON)
    catch_up(stack, spark, catalog, run)
    listed = list_quarantined(stack, catalog=catalog)
    assert [(one.partition, one.offset, one.rule) for one in listed] == oracle.quarantined(
        log(stack, topic_of(catalog))
    )
    assert sorted(one.text for one in listed) == sorted(["{broken", "(no value)", '{"a":1}', "\\xff\\xfe"])
    assert list_quarantined(stack, catalog=catalog, limit=2) == listed[:2]


def test_folding_keeps_the_answer_and_the_boundaries(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "LEVELS", (1, 2))
    settings = stack.model_copy(update={"max_offsets_per_trigger": 40})
    folding = settings.model_copy(update={"fold_epochs": 4, "fold_behind": 2})
    catalog, run = declared(settings, "folded")
    send(settings, catalog, 600)
    catch_up(settings, spark, catalog, run)
    newest = runs.epochs(settings, run.id)[-1].number
    assert newest >= 12
    view = catalog.view("folded_trade_stats")
    path = lake.speed(settings, run.id, Name(view.name))
    rows = delta.read(path).num_rows
    with leases.hold(settings, f"run_{run.id}") as lease:
        while fold.fold(spark, folding, run.id, view, newest, [5], lease):
            pass
    tags = delta.read(path, ["first_epoch", "last_epoch"]).to_pylist()
    spans = sorted({(row["first_epoch"], row["last_epoch"]) for row in tags})
    assert spans[:2] == [(0, 5), (6, 7)]
    assert len(tags) < rows
    check(settings, catalog, run, "folded")
    send(settings, catalog, 100, 600)
    catch_up(settings, spark, catalog, run)
    check(settings, catalog, run, "folded")


def test_ranges_lie_between_boundaries_and_behind_the_newest() -> None:
    spans = [(r.first, r.last) for r in fold.due(newest=260, behind=100, boundaries=[70, 99], size=50)]
    assert spans == [(0, 49), (50, 70), (71, 99), (100, 149)]
    assert fold.due(newest=148, behind=100, boundaries=[], size=50) == []
    assert [(r.first, r.last) for r in fold.due(1_150, 100, [500], 1_000)] == [(0, 500), (501, 999)]


def test_maintenance_bounds_files_and_changes_nothing(stack: Settings, spark: SparkSession) -> None:
    settings = stack.model_copy(update={"max_offsets_per_trigger": 20})
    catalog, run = declared(settings, "tidy")
    send(settings, catalog, 500)
    catch_up(settings, spark, catalog, run)
    with leases.hold(settings, f"run_{run.id}") as lease:
        tasks = Maintenance(spark, settings, catalog, run, lease)
        tasks.after(600)
        tasks.drain()
        tasks.close()
    for view in run.views:
        assert len(delta.table(lake.speed(settings, run.id, view)).file_uris()) == 1
    check(settings, catalog, run, "tidy")


def test_kafka_restarted_under_a_running_job_loses_nothing(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "restart")
    with running(stack, spark, catalog, run) as (query, _):
        send(stack, catalog, 200)
        query.processAllAvailable()
        assert process.stop(stack, "kafka")
        servers.up(stack)
        send(stack, catalog, 200, 200)
        query.processAllAvailable()
    check(stack, catalog, run, "restart")


def test_a_run_is_started_once_stopped_between_epochs_and_resumed(stack: Settings) -> None:
    catalog = definitions.load(stack)
    try:
        first = control.start(stack, catalog, new=True)
        assert (first.alive, first.phase, first.already) == (True, "running", False)
        again = control.start(stack, catalog)
        assert (again.pid, again.already) == (first.pid, True)
        stopped = control.stop(stack)
        assert (stopped.alive, stopped.phase, stopped.run) == (False, "stopped", first.run)
        assert control.start(stack, catalog).run == first.run
    finally:
        control.stop(stack)


def test_a_start_that_fails_says_why(stack: Settings) -> None:
    """The child finds other definitions than the run was declared with."""
    catalog = catalog_of(stack, "unknown")
    run = control.declare(stack, catalog)
    with pytest.raises(Refused, match="other definitions than the run was declared with"):
        control.start(stack, catalog)
    state = control.status(stack, run.id)
    assert (state.alive, state.phase) == (False, "failed")
    assert "other definitions" in state.line
