"""Some views are switched to Kappa, the others stay in Lambda. All answers stay exact."""

from __future__ import annotations

import json

import pytest

from core.identifiers import Name
from infra.control import run_roles, runs
from infra.control.claims import read_claims
from infra.lake import files, table_paths
from tests.support.instances.world import World
from tests.support.records.load import mixed

SOME = ("trade_stats", "traffic_by_hour")


@pytest.fixture
def run(world: World) -> Name:
    """A run that computes and serves two of the four views."""
    world.serve_lambda()
    pins_before = [pin for view, pin in world.publication.pins.items() if view in SOME]
    if pins_before and {pin.mode for pin in pins_before} != {"kappa"}:
        world.here("replay", "start", "--views", ",".join(SOME), "--json").ok()
        replay = runs.read_runs(world.settings)[-1]
        assert sorted(replay.views) == sorted(SOME)
        refused = world.here("switch", "kappa", "--json")
        assert (refused.code, f"replay {replay.id} computes other views" in refused.json["error"]) == (1, True)
        switched = world.here("switch", "kappa", "--run", replay.id, "--json").ok().json
        assert sorted(comparison["view"] for comparison in switched["comparisons"]) == sorted(SOME)
        assert not switched["already"]
    return runs.read_runs(world.settings)[-1].id


def modes(world: World) -> dict[str, str]:
    views = json.loads(world.here("status", "--json").out)["views"]
    return {view["view"]: view["mode"] for view in views}


def test_only_these_views_are_switched_and_the_others_are_published_as_before(world: World, run: Name) -> None:
    expected_modes = {str(view): "kappa" if view in SOME else "lambda" for view in world.catalog.views}
    assert modes(world) == expected_modes
    assert world.here("switch", "kappa", "--run", run, "--json").ok().json["already"]
    pins_before = world.publication.pins
    world.send(mixed(seed=31, count=60))
    world.settle_all()
    world.check()
    batch = world.here("batch", "--json").ok().json
    assert batch["publication"] is not None
    pins_after = world.publication.pins
    assert {view for view in pins_after if pins_after[view] != pins_before[view]} == {
        v for v in world.catalog.views if v not in SOME
    }
    assert modes(world) == expected_modes
    world.settle_all()
    world.check()
    assert [comparison["equal"] for comparison in world.here("compare", "--served", "--json").ok().json] == [True] * 4
    claims_before = read_claims(world.settings)
    refused = world.here("switch", "lambda", "--json")
    assert (refused.code, "only some views are in Kappa" in refused.json["error"]) == (1, True)
    assert "lk speed start --new" in refused.json["fix"]
    assert read_claims(world.settings) == claims_before
    world.here("speed", "start", "--new", "--json").ok()
    assert set(modes(world).values()) == {"lambda"}
    assert len({pin.run for pin in world.publication.pins.values()}) == 1
    world.settle()
    world.check()


def test_a_rollback_takes_these_views_back(world: World, run: Name) -> None:
    world.here("rollback", "--json").ok()
    assert set(modes(world).values()) == {"lambda"}
    assert run_roles.roles(world.settings)[run] == "warm"
    world.settle_all()
    world.check()
    world.here("retire", run, "--final", "--json").ok()
    assert files.size(table_paths.run(world.settings, run)) == 0
    world.check()
