"""Some views are switched to Kappa, the others stay in Lambda: each goes on exactly as what it is."""

from __future__ import annotations

import json

import pytest

from core.identifiers import Name
from infra.control import run_roles, runs
from infra.control.claims import read_claims
from infra.lake import files, table_paths
from tests.support.load import mixed
from tests.support.world import World

SOME = ("trade_stats", "traffic_by_hour")


@pytest.fixture
def run(world: World) -> Name:
    """A run that computes two of the four views, and serves them."""
    world.serve_lambda()
    before = [pin for view, pin in world.publication.pins.items() if view in SOME]
    if before and {pin.mode for pin in before} != {"kappa"}:
        world.here("replay", "start", "--views", ",".join(SOME), "--json").ok()
        made = runs.read_runs(world.settings)[-1]
        assert sorted(made.views) == sorted(SOME)
        refused = world.here("switch", "kappa", "--json")
        assert (refused.code, f"replay {made.id} computes other views" in refused.json["error"]) == (1, True)
        done = world.here("switch", "kappa", "--run", made.id, "--json").ok().json
        assert sorted(one["view"] for one in done["comparisons"]) == sorted(SOME)
        assert not done["already"]
    return runs.read_runs(world.settings)[-1].id


def modes(world: World) -> dict[str, str]:
    views = json.loads(world.here("status", "--json").out)["views"]
    return {view["view"]: view["mode"] for view in views}


def test_only_these_views_are_switched_and_the_others_are_published_as_before(world: World, run: Name) -> None:
    wanted = {str(view): "kappa" if view in SOME else "lambda" for view in world.catalog.views}
    assert modes(world) == wanted
    assert world.here("switch", "kappa", "--run", run, "--json").ok().json["already"]
    before = world.publication.pins
    world.send(mixed(seed=31, count=60))
    world.settle_all()
    world.check()
    done = world.here("batch", "--json").ok().json
    assert done["publication"] is not None
    after = world.publication.pins
    assert {view for view in after if after[view] != before[view]} == {v for v in world.catalog.views if v not in SOME}
    assert modes(world) == wanted
    world.settle_all()
    world.check()
    assert [one["equal"] for one in world.here("compare", "--served", "--json").ok().json] == [True] * 4
    claims = read_claims(world.settings)
    refused = world.here("switch", "lambda", "--json")
    assert (refused.code, "only some views are in Kappa" in refused.json["error"]) == (1, True)
    assert "lk speed start --new" in refused.json["fix"]
    assert read_claims(world.settings) == claims
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
