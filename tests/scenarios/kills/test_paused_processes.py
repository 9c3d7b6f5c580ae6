"""Paused processes lose their leases to successors. They change nothing when they wake."""

from __future__ import annotations

import os
import signal

from pyspark.sql import SparkSession

from infra.control.publications import read_publications
from infra.lake import leases
from tests.support.instances.world import World
from tests.support.records.load import mixed
from tests.support.waiting import eventually


def wait_until_free(world: World, lease: str) -> None:
    """Waits until a lease of a paused process has expired."""

    def is_free() -> None:
        assert leases.holder(world.settings, lease) is None, f"{lease} is held"

    eventually(world.settings, 3 * world.settings.lease_seconds, is_free)


def test_processes_that_wake_after_their_successors_change_nothing(world: World, spark: SparkSession) -> None:
    """A publication before a statement, a landing before its commit, and an epoch before its first view."""
    world.running()
    world.send(mixed(seed=60, count=60))
    world.settle()
    stale_build = world.build(spark)
    world.send(mixed(seed=61, count=60))
    world.settle()
    batch = world.spawn("batch", "--json", fault="batch.1_in_land:pause")
    world.wait_for_proof("batch.1_in_land")
    publish = world.spawn("publish", "--build", stale_build, "--json", fault="serving.1_before_view:2:pause")
    world.wait_for_proof("serving.1_before_view")
    world.stop_speed()
    world.send(mixed(seed=62, count=60))
    pid = world.start_speed(fault="speed.3_before_view:2:pause")
    world.wait_for_proof("speed.3_before_view")

    for lease in ("batch", "control", f"run_{world.run}"):
        wait_until_free(world, lease)
    successor = world.spawn("speed", "run", world.run)
    try:
        world.settle()
        newer_build = world.build(spark)
        assert world.here("publish", "--json").ok().json["pins"]["trade_stats"]["build"] == newer_build
        world.check()
        served_before, versions_before = world.pieces.served(), world.versions("archive", "batch")
        publications_before = read_publications(world.settings)

        for process in (publish, batch):
            process.signal(signal.SIGCONT)
            ended = process.done()
            assert ended.code == 75, ended.said
            assert "lease lost" in ended.json["error"] or "another process" in ended.json["error"], ended.said
        os.killpg(pid, signal.SIGCONT)
        world.gone(pid)
        assert "lease lost" in world.here("logs", f"speed-{world.run}").ok().out

        assert world.pieces.served() == served_before
        assert read_publications(world.settings) == publications_before
        assert world.versions("archive", "batch") == versions_before
        for point in ("batch.1_in_land", "serving.1_before_view", "speed.3_before_view"):
            assert world.take_proof(point).startswith("pause ")
        world.check()
    finally:
        successor.signal(signal.SIGTERM)
        successor.done()
    world.running()
    world.send(mixed(seed=63, count=30))
    world.settle()
    world.check()
