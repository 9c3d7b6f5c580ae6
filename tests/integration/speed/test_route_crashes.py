"""A route copies each record exactly once, at whichever fault point it crashes. Real kills: scenarios/routes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from core.errors import Refused
from core.identifiers import Name
from core.route import Output
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import routes
from flows.trace.stages import RouteCopy
from flows.trace.trace_record import trace_stored
from infra.control import locks, route_runs
from infra.control.route_runs import RouteRun
from infra.kafka import kafka_admin
from infra.kafka.route_positions import Position
from speed.process import background
from speed.routes import copy_task, planner, route_job
from speed.routes.handover import hand_over
from speed.routes.planner import reached
from tests.support.faults.crashes import crash_at
from tests.support.instances.route_split import OUTPUTS, ROUTE, Split, opened
from tests.support.records import committed_records
from tests.support.records.kafka_log import Sent, send
from tests.support.records.topics import delete


@pytest.fixture(scope="module")
def split_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Split]:
    """A broker with records of both sources, and a route that the tests drive in this process."""
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path_factory.mktemp("routes")) as instance:
        patch.setattr(background, "start", lambda *_: False)
        routes.start(instance.settings, instance.catalog, ROUTE)
        yield instance


def run_of(split_log: Split, name: Name) -> RouteRun:
    return route_runs.read_run(split_log.settings, name)


def copy_all(spark: SparkSession, split_log: Split, name: Name) -> None:
    """Runs epochs in the executors until the run has copied the whole log."""
    while route_job.epoch(spark, split_log.settings, split_log.catalog, run_of(split_log, name)):
        pass


def copy_here(spark: SparkSession, split_log: Split, name: Name) -> None:
    """Copies one epoch in this process, one partition after the other, as the executors do."""
    run = run_of(split_log, name)
    planned = planner.tasks(split_log.settings, split_log.catalog, run)
    for where, task in planned.items():
        rows = route_job._records(spark, split_log.settings, split_log.catalog, run, {where: task})
        copy_task.copy(task, rows.toArrow().to_batches())


def test_a_crash_at_every_step_of_a_route_copies_every_record_once(spark: SparkSession, split_log: Split) -> None:
    for step in ("route.0_before_epoch", "route.2_after_epoch"):
        split_log.send(40)
        with crash_at(split_log.settings, step):
            copy_all(spark, split_log, split_log.owner)
        split_log.check_so_far()
    for step in ("route.1_before_commit", "route.1_after_commit"):
        split_log.send(40)
        with crash_at(split_log.settings, step):
            copy_here(spark, split_log, split_log.owner)
        split_log.check_so_far()
    split_log.send(40)
    copy_all(spark, split_log, split_log.owner)
    split_log.check()
    idle = replace(split_log.catalog.route(ROUTE), name="idle", outputs=(Output("idle_copies"),))
    others = replace(split_log.catalog, routes={**split_log.catalog.routes, Name("idle"): idle})
    assert routes.with_copies(split_log.settings, others) == (ROUTE,)


def test_a_trace_names_the_copy_of_a_record(spark: SparkSession, split_log: Split) -> None:
    """Request 7 failed with status 503, request 1 did not; each partition has every fourth request."""
    copy_all(spark, split_log, split_log.owner)
    outputs = {}
    for partition, offset in ((3, 1), (1, 0)):
        trace = trace_stored(split_log.settings, split_log.catalog, Name("access_log"), partition, offset)
        (copy,) = trace.routes
        end = split_log.log.ends["access_log", partition]
        assert copy == RouteCopy(ROUTE, split_log.owner, end, True, copy.copy)
        assert committed_records.origin_at(split_log.settings, copy.copy) == f"access_log/{partition}/{offset}".encode()
        outputs[partition] = copy.copy.rpartition("/")[0]
    assert outputs == {3: "log_high/3", 1: "log_low/1"}


def test_a_trace_says_that_a_record_is_not_copied_yet(spark: SparkSession, split_log: Split) -> None:
    copy_all(spark, split_log, split_log.owner)
    end = split_log.log.ends["access_log", 0]
    split_log.send(4)
    trace = trace_stored(split_log.settings, split_log.catalog, Name("access_log"), 0, end)
    note = f"not copied yet: its position is {end}"
    assert trace.routes == (RouteCopy(ROUTE, split_log.owner, end, False, note=note),)


def test_a_record_that_fills_its_topics_limit_is_copied(spark: SparkSession, split_log: Split) -> None:
    """Its copy has one header more. The broker takes 4 MiB, compressed or not."""
    _, value = next((r.partition, r.value) for r in split_log.log.records if r.topic == "service_log" and r.value)
    large = ("trace", random.Random(1).randbytes(4 * 1024 * 1024 - 2_000))
    send(split_log.settings, [Sent("service_log", None, value, (large,), 1)])
    split_log.log.read()
    copy_all(spark, split_log, split_log.owner)
    split_log.check()


@pytest.mark.slow
def test_a_transaction_that_takes_long_is_committed_where_it_is(
    spark: SparkSession, split_log: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    split_log.send(40)
    planned = planner.tasks(split_log.settings, split_log.catalog, run_of(split_log, split_log.owner))
    partition, task = next(iter(planned.items()))
    rows = route_job._records(
        spark, split_log.settings, split_log.catalog, run_of(split_log, split_log.owner), {partition: task}
    )
    monkeypatch.setattr(copy_task, "LONGEST", 0.0)
    assert copy_task.copy(task, rows.toArrow().to_batches(max_chunksize=3)) == "copied"
    history = route_runs.read_history(split_log.settings, ROUTE)
    at = planner.reached(split_log.settings, history, run_of(split_log, split_log.owner))
    assert at[partition].offset == task.slice.span.start + 3 < task.slice.span.end
    split_log.check_so_far()
    monkeypatch.undo()
    copy_all(spark, split_log, split_log.owner)
    split_log.check()


def test_a_lost_position_is_found_in_the_copies(spark: SparkSession, split_log: Split) -> None:
    """Kafka forgets the offsets of an idle group; without them the whole log would be copied again."""
    split_log.send(40)
    copy_all(spark, split_log, split_log.owner)
    split_log.send(40)
    kafka_admin.delete_group(split_log.settings, split_log.owner)
    copy_all(spark, split_log, split_log.owner)
    split_log.check()
    (state,) = [state for state in routes.status(split_log.settings, split_log.catalog) if state.role == "owner"]
    assert (state.behind, state.exact) == (0, True)


def test_a_route_refuses_a_log_with_other_records(spark: SparkSession, split_log: Split) -> None:
    """The group's position is of another log: its mark is not that of the record before it."""
    settings, owner = split_log.settings, split_log.owner
    copy_all(spark, split_log, owner)
    (place, at), *_ = reached(settings, route_runs.read_history(settings, ROUTE), run_of(split_log, owner)).items()
    assert at.mark
    assert at.mark.offset == at.offset - 1
    _commit_position(split_log, place, replace(at, mark=replace(at.mark, digest="0" * 16)))
    split_log.send(40)
    expected = f"topic {place[0]}, partition {place[1]}, from offset {at.offset - 1} on"
    with pytest.raises(Refused, match=expected):
        planner.require_log_of_run(settings, run_of(split_log, owner))
    with pytest.raises(Refused, match=expected):
        copy_all(spark, split_log, owner)
    _commit_position(split_log, place, at)
    copy_all(spark, split_log, owner)
    split_log.check()


def _commit_position(split_log: Split, place: tuple[str, int], position: Position) -> None:
    consumer = Consumer({"bootstrap.servers": split_log.settings.bootstrap_servers, "group.id": split_log.owner})
    consumer.commit(offsets=[TopicPartition(*place, position.offset, position.metadata)], asynchronous=False)
    consumer.close()


def test_a_crash_at_every_step_of_a_handover_is_finished(spark: SparkSession, split_log: Split) -> None:
    """The new owner is a replay that has copied the log into its own topics."""
    old = split_log.owner
    replay = routes.replay(split_log.settings, split_log.catalog, ROUTE).run
    copy_all(spark, split_log, old)
    copy_all(spark, split_log, replay)
    split_log.check_copies(committed_records.copies(split_log.settings, OUTPUTS, f"__{replay}"))
    for step, hit in (
        ("handover.0_before_handover", 1),
        ("handover.1_in_handover", 3),
        ("handover.2_before_owner", 1),
        ("handover.2_after_owner", 1),
    ):
        with crash_at(split_log.settings, step, hit):
            hand_over(split_log.settings, split_log.catalog.route(ROUTE), replay)
        split_log.send(20)
    history = hand_over(split_log.settings, split_log.catalog.route(ROUTE), replay)
    assert (history.owner, [ownership.run for ownership in history.ownerships]) == (replay, [old, replay])
    with locks.hold(split_log.settings, "routes"):
        copy_all(spark, split_log, old)  # no longer the owner, so it copies nothing
    copy_all(spark, split_log, replay)
    split_log.check()


@pytest.mark.slow
def test_a_route_that_starts_on_a_lost_lake_goes_on_where_its_copies_end(
    spark: SparkSession, split_log: Split, tmp_path: Path
) -> None:
    copy_all(spark, split_log, split_log.owner)
    split_log.send(40)
    empty = split_log.settings.model_copy(update={"lake": str(tmp_path / "lake")})
    run = routes.start(empty, split_log.catalog, ROUTE).run
    assert run != split_log.owner
    while route_job.epoch(spark, empty, split_log.catalog, route_runs.read_run(empty, run)):
        pass
    split_log.check()


@pytest.mark.slow
def test_copies_of_another_log_are_no_position(spark: SparkSession, split_log: Split, tmp_path: Path) -> None:
    """A source was deleted and created again, and the lake is lost: nothing else tells that the records are others."""
    delete(split_log.settings, Name("service_log"))
    split_log.log.ends = {place: end for place, end in split_log.log.ends.items() if place[0] != "service_log"}
    empty = split_log.settings.model_copy(update={"lake": str(tmp_path / "lake")})
    run = routes.start(empty, split_log.catalog, ROUTE).run
    samples = records(split_log.catalog.topic("service_log"), SampleSpec(9, 1_763_683_200_000), 400, 0)
    send(empty, (Sent("service_log", None, sample.value, (), n % 4) for n, sample in enumerate(samples)))
    with pytest.raises(Refused, match="the output topics hold copies of another log"):
        route_job.epoch(spark, empty, split_log.catalog, route_runs.read_run(empty, run))
