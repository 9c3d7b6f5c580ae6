"""Kappa for weeks of epochs, then Lambda, then Kappa again: folds keep it small and disturb nothing."""

from __future__ import annotations

from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from infra.control import run_roles, runs
from infra.lake import files, table_paths
from serving.compare import compare
from tests.support.load import mixed
from tests.support.world import World

LOTS = 14


def test_kappa_for_weeks_then_lambda_then_kappa_again_stays_exact(world: World, spark: SparkSession) -> None:
    world.serve_lambda()
    before = run_roles.current_run(world.settings)
    world.here("switch", "kappa", "--json").ok()
    kappa = world.run
    assert kappa != before
    first = world.epoch
    for seed in range(500, 500 + LOTS):
        world.send(mixed(seed=seed, count=6))
        world.settle()
    assert world.epoch >= first + LOTS
    held = claim(world.settings, world.catalog)
    for seed in range(600, 1_000):  # folds take their turns with the epochs
        world.send(mixed(seed=seed, count=6))
        world.settle()
        if max((last for _, _, last in world.pieces.folded(kappa)), default=-1) > held.epoch:
            break
    assert held.epoch in {last for _, _, last in world.pieces.folded(kappa)}
    world.check()
    assert held.run == kappa
    land(spark, world.settings, world.catalog, held.cut)
    build(spark, world.settings, world.catalog, held)
    require_passed(gate(spark, world.settings, world.catalog, held))
    assert [one.equal for one in compare(spark, world.settings, world.catalog, held)] == [True] * 4
    for _ in range(2):
        world.here("rollback", "--json").ok()
        world.settle_all()
        world.check()
    assert world.run == kappa
    assert before
    world.here("retire", before, "--final", "--json").ok()
    assert files.size(table_paths.run(world.settings, before)) == 0
    world.here("switch", "lambda", "--json").ok()
    assert {(pin.mode, pin.run) for pin in world.publication.pins.values()} == {("lambda", kappa)}
    world.send(mixed(seed=1_000, count=40))
    world.settle()
    world.check()
    again = world.here("switch", "kappa", "--json").ok().json["run"]
    assert again not in (before, kappa)
    assert runs.read_run(world.settings, again).kind == "replay"
    world.settle_all()
    world.check()
