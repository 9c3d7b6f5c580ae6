"""From Lambda to Kappa and back on real servers: every answer stays what the log says."""

from __future__ import annotations

import json

from infra import comparisons, kafka, lake, roles, runs
from tests.faults.load import mixed
from tests.faults.world import World


def modes(world: World) -> set[tuple[str, str | None]]:
    """Mode and run of every view, as `lk status` tells them."""
    views = json.loads(world.lk("status", "--json").out)["views"]
    return {(view["mode"], view["run"]) for view in views}


def test_a_replayed_run_is_proven_equal_and_then_served(world: World) -> None:
    before = roles.current(world.settings)
    world.send(mixed(seed=2, count=200))
    done = world.lk("switch", "kappa", "--json").ok().json
    run = runs.runs(world.settings)[-1]
    assert (done["run"], run.kind) == (run.id, "replay")
    assert run.id != before
    assert [one["equal"] for one in done["comparisons"]] == [True] * len(world.catalog.views)
    assert modes(world) == {("kappa", run.id)}
    assert kafka.committed(world.settings, run.id, run.topics) == kafka.ends(world.settings, run.topics)
    assert sorted(comparisons.newest(world.settings, run.id)) == sorted(world.catalog.views)
    world.settle()
    world.check()


def test_kappa_needs_no_batch_layer_and_rollback_loses_nothing(world: World) -> None:
    kappa = roles.current(world.settings)
    batch = world.lk("batch", "--json").ok().json
    assert batch["publication"] is None
    world.send(mixed(seed=3, count=200))
    world.settle()
    world.check()
    world.lk("rollback", "--json").ok()
    assert {mode for mode, _ in modes(world)} == {"lambda"}
    assert roles.current(world.settings) != kappa
    world.settle_all()
    world.check()


def test_a_run_that_a_rollback_would_serve_is_retired_only_when_that_is_given_up(world: World) -> None:
    (warm,) = [run for run, role in roles.roles(world.settings).items() if role == "warm"]
    refused = world.lk("retire", warm, "--json")
    assert (refused.code, "would serve it" in refused.json["error"]) == (1, True)
    world.lk("retire", warm, "--final", "--json").ok()
    assert roles.roles(world.settings)[warm] == "retired"
    assert lake.size(lake.run(world.settings, warm)) == 0
    assert warm not in kafka.groups(world.settings)
    world.check()
