"""A batch is killed at each step, two batches start at once, and a slow batch meets a newer one."""

from __future__ import annotations

import signal

from pyspark.sql import SparkSession

from infra.control.claims import read_claims
from tests.support.instances.world import World
from tests.support.records.load import mixed

# `:2` is the second topic or view. The first is finished then.
COMPUTING = (
    "batch.0_before_claim",
    "batch.0_after_claim",
    "batch.1_before_land",
    "batch.1_in_land:2",
    "batch.1_after_land",
    "batch.2_in_build:2",
    "batch.2_before_built:2",
    "batch.2_after_built",
    "batch.3_in_gate",
    "batch.3_before_passed",
)
PUBLISHING = (
    "serving.0_before_intent",
    "serving.0_after_intent",
    "serving.1_between_views:2",
    "serving.2_before_done",
    "serving.2_after_done",
)


def kill_verb(world: World, verb: str, fault: str) -> None:
    ended = world.lk(verb, "--json", fault=f"{fault}:kill")
    assert ended.code == -signal.SIGKILL, ended.said
    expected_hit = fault.partition(":")[2] or "1"
    proof = world.take_proof(fault.partition(":")[0])
    assert (proof.split()[0], proof.split(maxsplit=2)[2]) == ("kill", f"hit {expected_hit}")


def test_a_batch_killed_at_every_step_is_finished_by_the_next_one(world: World) -> None:
    world.running()
    world.send(mixed(seed=40, count=120))
    world.settle()
    publications_before, served_before = len(world.publications), world.pieces.served()
    for fault in COMPUTING:
        kill_verb(world, "batch", fault)
        assert world.pieces.served() == served_before, f"{fault} changed what is served"
    claims_before = read_claims(world.settings)
    world.send(mixed(seed=41, count=40))
    world.settle()
    world.here("build", "--json").ok()
    world.here("gate", "--json").ok()
    assert read_claims(world.settings) == claims_before
    for fault in PUBLISHING:
        kill_verb(world, "publish", fault)
        world.check(healthy=False)
        unfinished = fault not in ("serving.0_before_intent", "serving.2_after_done")
        status = world.here("status", "--json")
        assert status.code == unfinished, status.said
        assert any("was begun and not finished" in reason for reason in status.json["unhealthy"]) == unfinished
    last = world.publications[-1]
    assert len(world.publications) == publications_before + 1
    assert world.here("publish", "--json").ok().json["seq"] == last.seq
    assert {pin.build for pin in last.pins.values()} == {claims_before[-1].build}
    world.check()


def test_of_two_batches_at_once_each_ends_with_0_or_75(world: World) -> None:
    world.running()
    world.send(mixed(seed=42, count=80))
    world.settle()
    publications_before = len(world.publications)
    batches = [world.spawn("batch", "--json") for _ in range(2)]
    ended = [batch.done() for batch in batches]
    codes = sorted(result.code for result in ended)
    assert codes in ([0, 0], [0, 75]), "\n".join(result.said for result in ended)
    assert all("fix" in result.json for result in ended if result.code == 75)
    assert len(world.publications) == publications_before + 1
    world.check()


def test_a_slow_batch_does_not_publish_behind_a_newer_one(world: World, spark: SparkSession) -> None:
    world.running()
    world.send(mixed(seed=43, count=60))
    world.settle()
    older_build = world.build(spark)
    world.send(mixed(seed=44, count=60))
    world.settle()
    newer_build = world.build(spark)
    assert newer_build != older_build
    world.here("publish", "--build", newer_build, "--json").ok()
    served_before = world.pieces.served()
    refused = world.here("publish", "--build", older_build, "--json")
    assert (refused.code, "would go back" in refused.json["error"]) == (1, True), refused.said
    assert world.pieces.served() == served_before
    world.check()


def test_a_batch_without_new_records_publishes_nothing_new(world: World, spark: SparkSession) -> None:
    world.running()
    world.settle()
    build = world.build(spark)
    seq = world.here("publish", "--json").ok().json["seq"]
    assert world.build(spark) == build
    assert world.here("publish", "--json").ok().json["seq"] == seq
    world.check()
