"""A switch killed at each step of replay, comparison and promotion. The same command finishes it."""

from __future__ import annotations

import signal

import pytest

from core.identifiers import Name
from infra.control import comparisons, run_roles, runs
from speed.process import background
from tests.support.instances.world import World
from tests.support.records.load import mixed
from tests.support.waiting import eventually

# `:2` is the second view. The first is finished then.
REPLAYING = (
    "speed.3_before_view:2",
    "speed.4_before_manifest",
    "speed.4_after_manifest",
    "speed.5_after_group",
)
COMPARING = ("replay.2_before_compare", "replay.2_in_compare:2", "replay.3_before_switch")
PROMOTING = (
    "serving.0_before_intent",
    "serving.0_after_intent",
    "serving.1_between_views:2",
    "serving.2_before_done",
    "serving.2_after_done",
)


def test_a_switch_killed_at_every_step_is_finished_by_the_same_command(world: World) -> None:
    world.running()
    world.send(mixed(seed=60, count=120))
    world.settle()
    world.serve_lambda()
    served_before, runs_before = world.pieces.served(), runs.read_runs(world.settings)
    ended = world.lk("switch", "kappa", "--json", fault="speed.0_before_epoch:kill")
    assert (ended.code, "died" in ended.out) == (1, True), ended.said
    world.take_proof("speed.0_before_epoch")
    (replay,) = [run for run in runs.read_runs(world.settings) if run not in runs_before]
    for seed, fault in enumerate(REPLAYING, 61):
        world.send(mixed(seed=seed, count=20))  # so that there is an epoch to die in
        world.lk("replay", "start", "--json", fault=f"{fault}:kill")
        wait_until_dead(world, replay.id, fault)
        assert world.pieces.served() == served_before, f"{fault} changed what is served"
    for fault in COMPARING:
        kill_switch(world, fault)
        assert world.pieces.served() == served_before, f"{fault} changed what is served"
        assert run_roles.roles(world.settings)[replay.id] == "replay"
    assert {comparison.equal for comparison in comparisons.latest_by_view(world.settings, replay.id).values()} == {True}
    for fault in PROMOTING:
        kill_switch(world, fault)
        world.settle_all()
        world.check(healthy=False)
    assert {pin.run for pin in world.publication.pins.values()} == {replay.id}
    assert world.lk("switch", "kappa", "--json").ok().json["already"] is True
    assert [run for run in runs.read_runs(world.settings) if run not in runs_before] == [replay]
    world.settle_all()
    world.check()


@pytest.mark.parametrize("fault", ["serving.0_after_intent", "serving.1_between_views:2", "serving.2_before_done"])
def test_a_rollback_killed_at_any_step_is_finished_by_any_command(world: World, fault: str) -> None:
    publication_before = world.publication
    ended = world.lk("rollback", "--json", fault=f"{fault}:kill")
    assert ended.code == -signal.SIGKILL, ended.said
    world.take_proof(fault.partition(":")[0])
    world.here("up", "--json").ok()
    world.settle_all()
    world.check()
    assert world.publication.seq >= publication_before.seq


def kill_switch(world: World, fault: str) -> None:
    ended = world.lk("switch", "kappa", "--json", fault=f"{fault}:kill")
    assert ended.code == -signal.SIGKILL, ended.said
    world.take_proof(fault.partition(":")[0])


def wait_until_dead(world: World, run: Name, fault: str) -> None:
    world.wait_for_proof(fault.partition(":")[0])
    assert world.take_proof(fault.partition(":")[0]).startswith("kill ")

    def process_is_gone() -> None:
        assert background.alive(world.settings, run) is None

    eventually(world.settings, 60, process_is_gone)
