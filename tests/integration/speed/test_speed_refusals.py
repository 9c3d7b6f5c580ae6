"""Errors of a speed run: each names the place and the fix."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from deltalake.exceptions import DeltaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.cut import Cut
from core.errors import REPAIR, Refused, TryAgain
from core.identifiers import Name
from core.record_counts import Totals
from core.topic import Rule
from infra.control import runs
from infra.control.manifest import epoch_row, read_epochs
from infra.control.pins import Pin
from infra.kafka import admin_requests
from infra.lake import idempotent_writes, table_paths
from infra.settings import Settings
from serving.ledger import ServedState
from serving.served_status import lost_record_problems
from speed import job
from speed.process import lifecycle
from tests.support.instances.layers import catalog_of, send, topic_of
from tests.support.instances.speed_runs import catch_up, check, declared, running
from tests.support.records.topics import delete


def test_a_topic_that_was_created_again_is_refused(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "remade")
    topic = topic_of(catalog)
    send(stack, catalog, 100)
    catch_up(stack, spark, catalog, run)
    before = read_epochs(stack, run.id)
    delete(stack, topic)
    send(stack, catalog, 300)
    with pytest.raises(Refused, match="deleted and created again"):
        catch_up(stack, spark, catalog, run)
    assert read_epochs(stack, run.id) == before
    with pytest.raises(Refused, match="deleted and created again"):
        lifecycle.declare(stack, catalog, before[-1].end)  # a build of the old topic would be added to
    assert lifecycle.declare(stack, catalog).topics[topic] != run.topics[topic]


def test_a_topic_created_again_under_a_running_job_stops_it(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "swapped")
    topic = topic_of(catalog)
    send(stack, catalog, 100)
    with job.driving(spark, stack, catalog, run) as (query, sink):
        query.processAllAvailable()
        before = read_epochs(stack, run.id)
        delete(stack, topic)
        send(stack, catalog, 300)
        with pytest.raises(StreamingQueryException):
            query.awaitTermination(120)
        with pytest.raises(Refused, match="deleted and created again"):
            job.finish(query, sink)
    assert read_epochs(stack, run.id) == before


def test_a_log_that_went_back_is_refused(stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest has an epoch of seven records that the log has not: the broker was restored from an older copy."""
    catalog, run = declared(stack, "back")
    send(stack, catalog, 100)
    catch_up(stack, spark, catalog, run)
    last = read_epochs(stack, run.id)[-1]
    (topic, partition, end), *others = last.end.ends
    later = replace(last, number=last.number + 1, start=last.end, end=Cut(((topic, partition, end + 7), *others)))
    idempotent_writes.append_once(
        table_paths.manifest(stack, run.id), epoch_row(later), runs.txn_app(run.id), later.number
    )
    monkeypatch.setattr(admin_requests, "DEADLINE", 1.0)
    expected = f"the log went back: {topic}, partition {partition} ends at {end}, was read up to {end + 7}"
    with pytest.raises(Refused, match=expected):
        catch_up(stack, spark, catalog, run)
    pin = Pin(None, run.id, -1, Cut(), Name("d"), "speed", Name("s"))
    state = ServedState(pin, None, later, Totals())
    assert lost_record_problems(last.end, [topic], {Name("v"): state, Name("w"): state}) == [expected]
    assert lost_record_problems(later.end, [topic], {Name("v"): state}) == []


def test_records_removed_before_they_were_read_are_named(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "gone")
    topic = topic_of(catalog)
    send(stack, catalog, 400)
    target = TopicPartition(str(topic), 2, 3)
    admin_requests.admin_client(stack).delete_records([target])[TopicPartition(str(topic), 2)].result(30)
    with pytest.raises(Refused, match="gone_trades, partition 2, offsets 0 to 2"):
        catch_up(stack, spark, catalog, run)
    assert read_epochs(stack, run.id) == ()


def test_another_definition_is_refused(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "changed")
    topic = catalog.topic("changed_trades")
    rules = (*topic.rules, Rule("small", "size < 10"))
    changed_catalog = Catalog({Name(topic.name): replace(topic, rules=rules)}, catalog.views)
    with pytest.raises(Refused, match="topic changed_trades, view changed_trades_by_day"):
        catch_up(stack, spark, changed_catalog, run)


def test_a_lost_checkpoint_is_refused(stack: Settings, spark: SparkSession) -> None:
    """A run that restarted from its declared start would skip every epoch as already committed."""
    catalog, run = declared(stack, "lost")
    send(stack, catalog, 50)
    catch_up(stack, spark, catalog, run)
    shutil.rmtree(table_paths.checkpoint(stack, run.id))
    with pytest.raises(Refused, match="checkpoint is at epoch -1, the manifest at epoch"):
        catch_up(stack, spark, catalog, run)


def test_a_damaged_checkpoint_is_refused_by_its_file(stack: Settings, spark: SparkSession) -> None:
    """Nobody is told to start the run again: it cannot resume."""
    catalog, run = declared(stack, "damaged")
    send(stack, catalog, 50)
    catch_up(stack, spark, catalog, run)
    checkpoint, last = Path(table_paths.checkpoint(stack, run.id)), read_epochs(stack, run.id)[-1].number
    for name in ("metadata", f"offsets/{last}", f"commits/{last}"):
        file = checkpoint / name
        content = file.read_bytes()
        for damaged in (b"", content[: len(content) // 2], content[:-1] + b"\0"):
            file.write_bytes(damaged)
            with pytest.raises(Refused) as refused:
                catch_up(stack, spark, catalog, run)
            assert refused.value.where == str(file)
            assert refused.value.fix == REPAIR
        file.write_bytes(content)
    catch_up(stack, spark, catalog, run)
    check(stack, catalog, run, "damaged")


def test_a_table_that_cannot_be_read_is_said_in_one_line(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "unreadable")
    with job.driving(spark, stack, catalog, run) as (query, sink):
        query.processAllAvailable()  # an epoch that begins while the query stops has a failure of its own
        sink.failure = DeltaError("Invalid JSON in log\nat line 3")
        with pytest.raises(TryAgain, match=r"a Delta table cannot be read or written: Invalid JSON in log\n"):
            job.finish(query, sink)


def test_two_processes_cannot_drive_one_run(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "single")
    with running(stack, spark, catalog, run), pytest.raises(TryAgain, match="is held"):
        catch_up(stack, spark, catalog, run)


@pytest.mark.slow
def test_a_start_that_fails_says_why(stack: Settings) -> None:
    """The definitions changed after the run was declared, so the child process fails."""
    catalog = catalog_of(stack, "unknown")
    run = lifecycle.declare(stack, catalog)
    with pytest.raises(Refused, match="definitions changed since the run was declared"):
        lifecycle.start(stack, run.id)
    state = lifecycle.status(stack, run.id)
    assert (state.alive, state.phase) == (False, "failed")
    assert "definitions changed since the run was declared" in state.line
