"""Kappa for many epochs, then Lambda, then Kappa again. Folds run on the way and every answer stays exact."""

from __future__ import annotations

from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from infra.control import run_roles, runs
from infra.lake import files, table_paths
from serving.compare import compare
from tests.support.instances.world import World
from tests.support.records.load import mixed

KAPPA_EPOCHS = 14


def test_kappa_for_weeks_then_lambda_then_kappa_again_stays_exact(world: World, spark: SparkSession) -> None:
    world.serve_lambda()
    lambda_run = run_roles.current_run(world.settings)
    world.here("switch", "kappa", "--json").ok()
    kappa_run = world.run
    assert kappa_run != lambda_run
    first_epoch = world.epoch
    for seed in range(500, 500 + KAPPA_EPOCHS):
        world.send(mixed(seed=seed, count=6))
        world.settle()
    assert world.epoch >= first_epoch + KAPPA_EPOCHS
    claimed = claim(world.settings, world.catalog)
    for seed in range(600, 1_000):  # until a fold reaches the claimed epoch
        world.send(mixed(seed=seed, count=6))
        world.settle()
        if max((last for _, _, last in world.pieces.folded(kappa_run)), default=-1) > claimed.epoch:
            break
    assert claimed.epoch in {last for _, _, last in world.pieces.folded(kappa_run)}
    world.check()
    assert claimed.run == kappa_run
    land(spark, world.settings, world.catalog, claimed.cut)
    build(spark, world.settings, world.catalog, claimed)
    require_passed(gate(spark, world.settings, world.catalog, claimed))
    assert [comparison.equal for comparison in compare(spark, world.settings, world.catalog, claimed)] == [True] * 4
    for _ in range(2):
        world.here("rollback", "--json").ok()
        world.settle_all()
        world.check()
    assert world.run == kappa_run
    assert lambda_run
    world.here("retire", lambda_run, "--final", "--json").ok()
    assert files.size(table_paths.run(world.settings, lambda_run)) == 0
    world.here("switch", "lambda", "--json").ok()
    assert {(pin.mode, pin.run) for pin in world.publication.pins.values()} == {("lambda", kappa_run)}
    world.send(mixed(seed=1_000, count=40))
    world.settle()
    world.check()
    second_kappa_run = world.here("switch", "kappa", "--json").ok().json["run"]
    assert second_kappa_run not in (lambda_run, kappa_run)
    assert runs.read_run(world.settings, second_kappa_run).kind == "replay"
    world.settle_all()
    world.check()
