"""Kappa for weeks of epochs, then Lambda, then Kappa again: folds keep it small and change nothing."""

from __future__ import annotations

from infra import lake, roles, runs
from tests.faults.load import mixed
from tests.faults.world import World
from tests.support.waiting import eventually

LOTS = 40


def test_kappa_for_weeks_then_lambda_then_kappa_again_stays_exact(world: World) -> None:
    before = roles.current(world.settings)
    world.lk("switch", "kappa", "--json").ok()
    kappa = world.run
    assert kappa != before
    first = world.epoch
    for seed in range(LOTS):
        world.send(mixed(seed=500 + seed, count=6))
        world.settle()
    assert world.epoch >= first + LOTS

    def folded() -> None:
        assert max((last for _, _, last in world.pieces.folded(kappa)), default=-1) > first + LOTS // 2

    eventually(world.settings, 60, folded)
    world.check()
    assert before
    world.lk("retire", before, "--final", "--json").ok()
    assert lake.size(lake.run(world.settings, before)) == 0
    world.lk("switch", "lambda", "--json").ok()
    assert {(pin.mode, pin.run) for pin in world.publication.pins.values()} == {("lambda", kappa)}
    world.send(mixed(seed=600, count=40))
    world.settle()
    world.check()
    again = world.lk("switch", "kappa", "--json").ok().json["run"]
    assert again not in (before, kappa)
    assert runs.run(world.settings, again).kind == "replay"
    world.settle_all()
    world.check()
