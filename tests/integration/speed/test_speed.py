"""The speed layer on real servers: every epoch equals the oracle, also after restarts and crashes of the run."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]
from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from core.cut import Span
from core.decoding.redrive_headers import ORIGIN
from infra.control.manifest import read_epochs
from infra.definitions import definition_files
from infra.kafka import admin_requests, kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.lake import delta, table_paths
from infra.local import local_processes, local_stack
from infra.settings import Settings
from speed.epoch import compute_epoch, offset_log, prepared_plans
from speed.epoch.prepared_plans import PreparedPlans
from speed.epoch.topic_results import TopicResult
from speed.process import epoch_pacing, lifecycle
from speed.quarantine.listing import list_quarantined
from tests.support.faults.killing import kill
from tests.support.faults.largest_result import largest_result
from tests.support.instances.layers import POISON, catalog_of, expected_rows, log, send, topic_of
from tests.support.instances.speed_runs import catch_up, check, declared, running, served
from tests.support.oracle import view_oracle


def test_every_epoch_is_exact_and_counted(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "exact", only="trade")
    with running(stack, spark, catalog, run) as (query, _):
        for part in range(3):
            send(stack, catalog, 300, 300 * part, POISON if part == 1 else ())
            query.processAllAvailable()
    assert len(read_epochs(stack, run.id)) >= 3
    check(stack, catalog, run, "exact")
    assert kafka_admin.committed_offsets(stack, run.id, run.topics) == kafka_admin.end_offsets(stack, run.topics)


def test_a_light_load_makes_an_epoch_for_each_trigger_at_most_and_a_quiet_topic_none(
    stack: Settings, spark: SparkSession
) -> None:
    """Forty sends, each acknowledged before the next; what comes while an epoch is committed waits for the next one."""
    settings = stack.model_copy(update={"trigger": "1 second"})
    catalog, run = declared(settings, "light")
    with running(settings, spark, catalog, run) as (query, _):
        send(settings, catalog, 5)
        query.processAllAvailable()
        began, before = time.monotonic(), len(read_epochs(settings, run.id))
        for number in range(1, 41):
            send(settings, catalog, 5, 5 * number)
        query.processAllAvailable()
        triggers = time.monotonic() - began
        committed = read_epochs(settings, run.id)
        assert 2 <= len(committed) - before <= triggers + 1
        assert not threading.Event().wait(2.5)  # time for two triggers
        assert len(read_epochs(settings, run.id)) == len(committed)
    check(settings, catalog, run, "light")


@pytest.mark.slow
def test_big_epochs_written_by_spark_give_the_same(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("SMALL", "COLLECTED", "_FEW_BAD"):
        monkeypatch.setattr(compute_epoch, limit, 0)
    catalog, run = declared(stack, "big")
    send(stack, catalog, 400, 0, POISON)
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        send(stack, catalog, 400, 400, POISON)
        query.processAllAvailable()
    check(stack, catalog, run, "big")
    assert len(list_quarantined(stack, catalog=catalog)) == 2 * len(POISON)


def test_records_of_a_megabyte_stop_no_run(stack: Settings, spark: SparkSession) -> None:
    """300 of them, which are too long for the topic, among others in one epoch; the driver has a heap of 1 GiB."""
    catalog, run = declared(stack, "large")
    large = [OutgoingRecord(f"k{number}".encode(), b"x" * 1_000_000) for number in range(300)]
    send(stack, catalog, 200, 0, large)
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        send(stack, catalog, 100, 200)
        query.processAllAvailable()
    check(stack, catalog, run, "large")
    quarantine = delta.read(table_paths.quarantine(stack, run.id), ["_value", "_error"])
    assert quarantine["_error"].unique().to_pylist() == ["too_long"]
    assert pa.compute.sum(pa.compute.binary_length(quarantine["_value"])).as_py() == 300_000_000


def test_an_epoch_whose_results_are_too_large_for_the_driver_is_written_by_spark(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known by the size of its records, then by Spark's refusal to return its rows, then by counting their bytes."""
    catalog, run = declared(stack, "toolarge", only="trade")
    refused: list[object] = []
    fits: list[bool] = []
    run_plans = PreparedPlans.run

    def limited(plans: PreparedPlans, spans: Sequence[Span]) -> list[tuple[TopicResult, pa.Table]] | None:
        try:
            with largest_result(spark, "2k"):
                return run_plans(plans, spans)
        except Py4JError as e:
            refused.append(e)
            raise

    def counted(plans: PreparedPlans, spans: Sequence[Span]) -> list[tuple[TopicResult, pa.Table]] | None:
        results = run_plans(plans, spans)
        fits.append(results is not None)
        return results

    monkeypatch.setattr(PreparedPlans, "run", limited)
    send(stack, catalog, 200, 0, POISON)
    with running(stack, spark, catalog, run) as (query, _):
        with monkeypatch.context() as patch:
            patch.setattr(prepared_plans, "MAX_RESULT_BYTES", 1)
            query.processAllAvailable()
        assert not refused
        send(stack, catalog, 200, 200)
        query.processAllAvailable()
        assert refused
        with monkeypatch.context() as patch:
            patch.setattr(PreparedPlans, "run", counted)
            patch.setattr(prepared_plans, "MAX_RESULT_BYTES", 1_500)  # its record has about a hundred
            send(stack, catalog, 1, 400)
            query.processAllAvailable()
        assert fits == [False]
    check(stack, catalog, run, "toolarge")


def test_epochs_of_large_records_have_fewer_of_them(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, run = declared(stack, "fewer", only="trades_by")
    large = ("trace", b"y" * 32_000)
    send(stack, catalog, 0, 0, [OutgoingRecord(b"%d" % n, b"x" * 32_000, headers=(large,)) for n in range(100)])
    with monkeypatch.context() as patch:
        patch.setattr(epoch_pacing, "_EPOCH_BYTES", 2_048_000)
        catch_up(stack, spark, catalog, run)
    sizes = [epoch.end.size_since(epoch.start) for epoch in read_epochs(stack, run.id)]
    assert sum(sizes) == 100
    assert max(sizes) <= 36  # 32, and Spark rounds the share of each partition up
    check(stack, catalog, run, "fewer")


def test_the_third_process_that_begins_with_an_epoch_computes_it_with_plans_that_spill(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM that has no memory left ends without an answer, so the next process would die of the same epoch."""
    catalog, run = declared(stack, "thirdstart", only="trades_by")
    numbers: list[int] = []
    run_plans = PreparedPlans.run

    def dying(plans: PreparedPlans, spans: Sequence[Span]) -> list[tuple[TopicResult, pa.Table]] | None:
        numbers.append(spans[0].end)
        if len(numbers) <= 2:
            raise MemoryError("this process ends")
        return run_plans(plans, spans)

    monkeypatch.setattr(PreparedPlans, "run", dying)
    send(stack, catalog, 50)
    for _ in range(2):
        with pytest.raises(StreamingQueryException), running(stack, spark, catalog, run) as (query, _):
            query.processAllAvailable()
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        assert len(numbers) == 2
        send(stack, catalog, 50, 50)
        query.processAllAvailable()
    assert len(numbers) >= 3  # the query may read the records while they are sent, in two epochs
    check(stack, catalog, run, "thirdstart")


def test_an_epoch_with_a_redriven_record_is_no_small_one(stack: Settings, spark: SparkSession) -> None:
    """Its plan would decode the copy as if it had no original."""
    catalog, run = declared(stack, "copies", only="trade_stats")
    copy = OutgoingRecord(b"AAPL", b"{}", headers=((ORIGIN, b"copies_trades/0/0"),))
    with running(stack, spark, catalog, run) as (query, sink):
        send(stack, catalog, 20)
        query.processAllAvailable()
        send(stack, catalog, 0, 20, [copy])
        query.processAllAvailable()
        assert sink.compute.prepared
        epochs = [offset_log.planned_epoch(stack, run, number) for number in range(len(read_epochs(stack, run.id)))]
        fits = [sink.compute.prepared.run(epoch.spans) is not None for epoch in epochs if epoch.size]
    assert fits[0]
    assert not fits[-1]
    check(stack, catalog, run, "copies")


@pytest.mark.slow
def test_catching_up_takes_bounded_epochs(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "bounded")
    send(stack, catalog, 1_000)
    catch_up(stack.model_copy(update={"max_offsets_per_trigger": 250}), spark, catalog, run)
    sizes = [epoch.end.size_since(epoch.start) for epoch in read_epochs(stack, run.id)]
    assert sum(sizes) == 1_000
    assert max(sizes) <= 260  # Spark rounds the share of each partition up
    check(stack, catalog, run, "bounded")


def test_an_epoch_delivered_twice_is_skipped(stack: Settings, spark: SparkSession) -> None:
    """The state after a kill between the manifest row and Spark's commit log."""
    catalog, run = declared(stack, "twice")
    send(stack, catalog, 200)
    catch_up(stack, spark, catalog, run)
    before = read_epochs(stack, run.id)
    commits = Path(table_paths.checkpoint(stack, run.id)) / "commits"
    for name in (str(before[-1].number), f".{before[-1].number}.crc"):
        (commits / name).unlink()
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        assert read_epochs(stack, run.id) == before
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
        futures = admin_requests.admin_client(stack).create_partitions(
            [NewPartitions(str(topic), 6)], operation_timeout=30
        )
        futures[str(topic)].result(30)
        send(stack, catalog, 600, 200)
        query.processAllAvailable()
    ends = kafka_admin.end_offsets(stack, [topic])
    assert ends.end(topic, 4) + ends.end(topic, 5) > 0
    check(stack, catalog, run, "wider")


def test_a_run_starts_at_its_declared_start(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "later")
    send(stack, catalog, 300)
    start = kafka_admin.end_offsets(stack, [topic_of(catalog)])
    run = lifecycle.declare(stack, catalog, start)
    send(stack, catalog, 200, 300)
    catch_up(stack, spark, catalog, run)
    records = [r for r in log(stack, topic_of(catalog)) if r.offset >= start.end("later_trades", r.partition)]
    assert len(records) == 200
    for view in run.views:
        assert served(stack, catalog, run, view) == expected_rows(view, "later", records)


def test_quarantine_lists_each_bad_record_once_with_its_rule(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "poison")
    send(stack, catalog, 100, 0, POISON)
    catch_up(stack, spark, catalog, run)
    listed = list_quarantined(stack, catalog=catalog)
    assert [(record.partition, record.offset, ",".join(record.rules)) for record in listed] == view_oracle.quarantined(
        log(stack, topic_of(catalog))
    )
    assert sorted(record.text for record in listed) == sorted(["{broken", "(no value)", '{"a":1}', "\\xff\\xfe"])
    assert list_quarantined(stack, catalog=catalog, limit=2) == listed[:2]


def test_kafka_killed_under_a_running_job_loses_nothing(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "restart")
    with running(stack, spark, catalog, run) as (query, _):
        send(stack, catalog, 200)
        query.processAllAvailable()
        kafka = local_processes.running_process(stack, "kafka")
        assert kafka
        kill(kafka.pid)
        local_stack.start_servers(stack)
        send(stack, catalog, 200, 200)
        query.processAllAvailable()
    check(stack, catalog, run, "restart")


@pytest.mark.slow
def test_a_run_is_started_once_stopped_between_epochs_and_resumed(stack: Settings) -> None:
    catalog = definition_files.load(stack)
    try:
        run = lifecycle.declare(stack, catalog).id
        first = lifecycle.start(stack, run)
        assert (first.alive, first.phase, first.already) == (True, "running", False)
        again = lifecycle.start(stack, run)
        assert (again.pid, again.already) == (first.pid, True)
        stopped = lifecycle.stop(stack, run)
        assert (stopped.alive, stopped.phase, stopped.run) == (False, "stopped", first.run)
        assert lifecycle.start(stack, run).run == first.run
    finally:
        lifecycle.stop(stack, run)
