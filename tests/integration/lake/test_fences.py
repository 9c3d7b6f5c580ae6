"""A paused writer that lost its lease commits nothing when it continues. Paused processes: scenarios/kills."""

from __future__ import annotations

from functools import partial

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from batch.land import land
from core.errors import TryAgain
from infra.control.manifest import read_epochs
from infra.control.publications import read_publications
from infra.kafka import kafka_admin
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino import served_views
from serving.promote import serve_run
from serving.publish import publish
from speed import job
from tests.support.faults.crashes import held_at, standing_still, taken_over
from tests.support.instances.layers import built, catalog_of, check_served, commit_epoch, new_run, send
from tests.support.instances.speed_runs import catch_up, check, declared
from tests.support.waiting import eventually


def test_a_landing_that_was_taken_over_commits_nothing(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "fland", "trades_by")
    (topic,) = catalog.topics
    send(stack, catalog, 100)
    cut = kafka_admin.end_offsets(stack, [topic])
    archive = table_paths.archive(stack, topic, catalog.decoder(topic))
    with standing_still(partial(land, spark, stack, catalog, cut), "batch.1_in_land") as (thread, landing):
        impatient = stack.model_copy(update={"lease_seconds": 0.3})  # shorter than the time between two heartbeats
        send(stack, catalog, 50, 100)
        later = kafka_admin.end_offsets(stack, [topic])

        def landed() -> None:
            try:
                land(spark, impatient, catalog, later)
            except TryAgain as e:
                raise AssertionError(e) from None

        eventually(stack, 60, landed)
        before = delta.version(archive)
        thread.released.set()
        with pytest.raises(TryAgain, match="another process landed meanwhile"):
            landing.result(60)
    assert delta.version(archive) == before
    assert delta.read(archive, ["_offset"]).num_rows == 150


def test_a_publication_that_was_taken_over_changes_nothing_more(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "fpub")
    send(stack, catalog, 100)
    run = new_run(stack, catalog)
    commit_epoch(spark, stack, catalog, run)
    serve_run(stack, catalog, run.id, "test")
    stale = built(spark, stack, catalog)
    send(stack, catalog, 100, 100)
    newest = commit_epoch(spark, stack, catalog, run)
    newer = built(spark, stack, catalog)
    publish_stale = partial(publish, stack, catalog, stale.build, why="stale")
    with standing_still(publish_stale, "serving.1_between_views", 2) as (thread, publishing):
        taken_over(stack, "control")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("infra.faults.at", lambda _: None)
            publish(stack, catalog, newer.build, why="newer")
        served, history = served_views.read_served(stack, catalog.views), read_publications(stack)
        thread.released.set()
        with pytest.raises(TryAgain, match="lease lost"):
            publishing.result(60)
    assert {view.build for view in served.values()} == {newer.build}
    assert served_views.read_served(stack, catalog.views) == served
    assert read_publications(stack) == history
    check_served(stack, catalog, "fpub", newest.end)


def test_an_epoch_that_was_taken_over_is_committed_by_its_successor_alone(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "fspeed", only="trade")
    send(stack, catalog, 100)
    catch_up(stack, spark, catalog, run)
    send(stack, catalog, 100, 100)
    with held_at("speed.3_before_view", 2) as thread, job.driving(spark, stack, catalog, run) as (query, sink):
        assert thread.reached.wait(60)
        taken_over(stack, f"run_{run.id}", [table_paths.speed(stack, run.id, view) for view in run.views])
        thread.released.set()
        with pytest.raises(StreamingQueryException):
            query.awaitTermination(60)
        with pytest.raises(TryAgain, match="lease lost"):
            job.finish(query, sink)
    assert len(read_epochs(stack, run.id)) == 1
    catch_up(stack, spark, catalog, run)
    check(stack, catalog, run, "fspeed")
