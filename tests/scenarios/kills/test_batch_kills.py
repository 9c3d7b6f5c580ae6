"""The batch process, killed at every step of claim, land, build, gate and publish, started twice, and overtaken."""

from __future__ import annotations

import signal

from pyspark.sql import SparkSession

from infra.control.claims import read_claims
from infra.control.publications import Publication, read_publications
from tests.support.load import mixed
from tests.support.world import World

# Of several topics or views, the second: the first is done by then.
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


def done(world: World) -> list[Publication]:
    return [p for p in read_publications(world.settings) if p.state == "done"]


def killed(world: World, verb: str, fault: str) -> None:
    ended = world.lk(verb, "--json", fault=f"{fault}:kill")
    assert ended.code == -signal.SIGKILL, ended.said
    hit = fault.partition(":")[2] or "1"
    proof = world.take_proof(fault.partition(":")[0])
    assert (proof.split()[0], proof.split(maxsplit=2)[2]) == ("kill", f"hit {hit}")


def test_a_batch_killed_at_every_step_is_finished_by_the_next_one(world: World) -> None:
    world.running()
    world.send(mixed(seed=40, count=120))
    world.settle()
    before, served = len(done(world)), world.pieces.served()
    for fault in COMPUTING:
        killed(world, "batch", fault)
        assert world.pieces.served() == served, f"{fault} changed what is served"
    claims = read_claims(world.settings)
    world.send(mixed(seed=41, count=40))
    world.settle()
    world.here("build", "--json").ok()
    world.here("gate", "--json").ok()
    assert read_claims(world.settings) == claims
    for fault in PUBLISHING:
        killed(world, "publish", fault)
        world.check(healthy=False)
        begun = fault.startswith(("serving.1", "serving.2", "serving.3"))
        said = world.here("status", "--json")
        assert said.code == begun, said.said
        assert any("was begun and not finished" in reason for reason in said.json["unhealthy"]) == begun
    last = done(world)[-1]
    assert len(done(world)) == before + 1
    assert world.here("publish", "--json").ok().json["seq"] == last.seq
    assert {pin.build for pin in last.pins.values()} == {claims[-1].build}
    world.check()


def test_of_two_batches_started_at_once_each_ends_done_or_told_to_try_again(world: World) -> None:
    world.running()
    world.send(mixed(seed=42, count=80))
    world.settle()
    before = len(done(world))
    both = [world.spawn("batch", "--json") for _ in range(2)]
    ended = [one.done() for one in both]
    codes = sorted(one.code for one in ended)
    assert codes in ([0, 0], [0, 75]), "\n".join(one.said for one in ended)
    assert all("fix" in one.json for one in ended if one.code == 75)
    assert len(done(world)) == before + 1
    world.check()


def test_a_slow_batch_does_not_publish_behind_a_newer_one(world: World, spark: SparkSession) -> None:
    world.running()
    world.send(mixed(seed=43, count=60))
    world.settle()
    slow = world.build(spark)
    world.send(mixed(seed=44, count=60))
    world.settle()
    newer = world.build(spark)
    assert newer != slow
    world.here("publish", "--build", newer, "--json").ok()
    served = world.pieces.served()
    late = world.here("publish", "--build", slow, "--json")
    assert (late.code, "would go back" in late.json["error"]) == (1, True), late.said
    assert world.pieces.served() == served
    world.check()


def test_a_batch_without_new_records_publishes_nothing_new(world: World, spark: SparkSession) -> None:
    world.running()
    world.settle()
    first = world.build(spark)
    seq = world.here("publish", "--json").ok().json["seq"]
    assert world.build(spark) == first
    assert world.here("publish", "--json").ok().json["seq"] == seq
    world.check()
