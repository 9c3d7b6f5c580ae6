"""The speed process killed before and after each step of the commit protocol."""

from __future__ import annotations

from tests.support.instances.world import World
from tests.support.records.kafka_log import Sent
from tests.support.records.load import mixed
from tests.support.waiting import eventually

# Each kill up to the manifest repeats the same epoch. The values: which mark each view shows after the kill.
KILLS_BEFORE_MANIFEST = {
    "speed.0_before_epoch": [0, 0, 0, 0],
    "speed.1_after_compute": [0, 0, 0, 0],
    "speed.2_after_quarantine": [0, 0, 0, 0],
    "speed.3_before_view": [0, 0, 0, 0],
    "speed.3_before_view:3": [1, 1, 0, 0],
    "speed.4_before_manifest": [1, 1, 1, 1],
    "speed.4_after_manifest": [1, 1, 1, 1],
}
# After the manifest, each kill is in its own epoch, and the next start delivers that epoch once more.
KILLS_AFTER_MANIFEST = ("speed.5_after_group", "speed.6_after_maintenance")
SMALL_EPOCHS = {"max_offsets_per_trigger": 8, "fold_epochs": 10}


def test_a_speed_process_killed_at_every_step_of_one_epoch_commits_that_epoch_once(world: World) -> None:
    """Each start has the next fault point. The start after the manifest finds its epoch committed and continues."""
    world.running()
    world.settle()
    world.stop_speed()
    epoch_before = world.epoch
    world.marks = [dict(world.log.ends)]
    world.send(mixed(seed=2, count=150))
    for fault, mark_of_each_view in KILLS_BEFORE_MANIFEST.items():
        world.died(world.start_speed(fault=f"{fault}:kill"), fault.split(":")[0])
        assert world.whole() == mark_of_each_view, fault
        assert world.epoch == epoch_before + (fault == "speed.4_after_manifest")
        world.send(mixed(seed=len(world.log.records), count=30))
    for number, point in enumerate(KILLS_AFTER_MANIFEST, start=2):
        world.died(world.start_speed(fault=f"{point}:kill"), point)
        assert world.epoch == epoch_before + number
        world.send(mixed(seed=len(world.log.records), count=60))
    world.start_speed()
    world.settle()
    assert world.epoch == epoch_before + 2 + len(KILLS_AFTER_MANIFEST)
    world.check()


def test_a_speed_process_killed_in_a_fold_leaves_every_row_once(world: World) -> None:
    """Runs small epochs until a fold is due, kills the fold, and starts again."""
    world.running()
    world.settle()
    world.stop_speed()
    world.send(small_epochs(world, 30))
    world.died(world.start_speed(fault="speed.6_in_fold:kill", changed=SMALL_EPOCHS), "speed.6_in_fold")
    killed_at = world.epoch
    assert world.pieces.folded(world.run) == []
    world.send(small_epochs(world, 31))
    world.start_speed(changed=SMALL_EPOCHS)

    def rows_are_folded() -> None:
        assert world.pieces.folded(world.run), f"nothing was folded up to epoch {world.epoch}"

    eventually(world.settings, 180, rows_are_folded)
    world.settle()
    assert world.epoch > killed_at
    world.check()
    world.stop_speed()


def small_epochs(world: World, seed: int) -> list[Sent]:
    """Enough records to reach the next fold, at about 12 records per epoch."""
    fold_epochs = SMALL_EPOCHS["fold_epochs"]
    next_fold = max(2 * fold_epochs, (world.epoch // fold_epochs + 1) * fold_epochs)
    return mixed(seed, (next_fold - world.epoch + 15) * 12)
