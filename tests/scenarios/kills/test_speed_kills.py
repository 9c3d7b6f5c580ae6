"""The speed process, killed before and after every step of its commit protocol."""

from __future__ import annotations

from tests.support.kafka_log import Sent
from tests.support.load import mixed
from tests.support.waiting import eventually
from tests.support.world import World

# Before the manifest the same epoch is done again and again; with each step, how much each view shows then.
AGAIN = {
    "speed.0_before_epoch": [0, 0, 0, 0],
    "speed.1_after_compute": [0, 0, 0, 0],
    "speed.2_after_quarantine": [0, 0, 0, 0],
    "speed.3_before_view": [0, 0, 0, 0],
    "speed.3_before_view:3": [1, 1, 0, 0],
    "speed.4_before_manifest": [1, 1, 1, 1],
    "speed.4_after_manifest": [1, 1, 1, 1],
}
# After it, each kill is in an epoch of its own, and the next start delivers that epoch once more.
ONWARDS = ("speed.5_after_group", "speed.6_after_maintenance")
SMALL = {"max_offsets_per_trigger": 8, "fold_epochs": 10}


def test_a_speed_process_killed_at_every_step_of_one_epoch_commits_that_epoch_once(world: World) -> None:
    """Each start carries the next kill; the one after the manifest finds its epoch done and goes on."""
    world.running()
    world.settle()
    world.stop_speed()
    before = world.epoch
    world.marks = [dict(world.log.ends)]
    world.send(mixed(seed=2, count=150))
    for fault, shown in AGAIN.items():
        world.died(world.start_speed(fault=f"{fault}:kill"), fault.split(":")[0])
        assert world.whole() == shown, fault
        assert world.epoch == before + (fault == "speed.4_after_manifest")
        world.send(mixed(seed=len(world.log.records), count=30))
    for number, point in enumerate(ONWARDS, start=2):
        world.died(world.start_speed(fault=f"{point}:kill"), point)
        assert world.epoch == before + number
        world.send(mixed(seed=len(world.log.records), count=60))
    world.start_speed()
    world.settle()
    assert world.epoch == before + 2 + len(ONWARDS)
    world.check()


def test_a_speed_process_killed_in_a_fold_leaves_every_row_once(world: World) -> None:
    """Small epochs until rows are due to be folded; the fold is killed, done again, and its rows are fewer."""
    world.running()
    world.settle()
    world.stop_speed()
    world.send(small_epochs(world, 30))
    world.died(world.start_speed(fault="speed.6_in_fold:kill", changed=SMALL), "speed.6_in_fold")
    killed_at = world.epoch
    assert world.pieces.folded(world.run) == []
    world.send(small_epochs(world, 31))
    world.start_speed(changed=SMALL)

    def folded() -> None:
        assert world.pieces.folded(world.run), f"nothing was folded up to epoch {world.epoch}"

    eventually(world.settings, 180, folded)
    world.settle()
    assert world.epoch > killed_at
    world.check()
    world.stop_speed()


def small_epochs(world: World, seed: int) -> list[Sent]:
    """Enough records to reach the next epoch at which a fold is due, and its turn, at about 12 records an epoch."""
    often = SMALL["fold_epochs"]
    due = max(2 * often, (world.epoch // often + 1) * often)
    return mixed(seed, (due - world.epoch + 15) * 12)
