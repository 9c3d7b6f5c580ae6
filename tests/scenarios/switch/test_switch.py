"""From Lambda to Kappa and back on real servers: every answer stays what the log says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from core.errors import Refused
from core.identifiers import Name
from infra.control import comparisons, locks, run_roles, runs
from infra.control.builds import add_built, read_builds
from infra.control.epochs import read_epochs
from infra.kafka import kafka_admin
from infra.lake import delta, files, table_paths
from infra.trino import metastore
from serving import change_mode
from tests.support.load import mixed
from tests.support.world import World

VIEW = Name("trades_by_day")


def modes(world: World) -> set[tuple[str, str | None]]:
    """Mode and run of every view, as `lk status` tells them."""
    views = json.loads(world.here("status", "--json").out)["views"]
    return {(view["mode"], view["run"]) for view in views}


def test_a_replayed_run_is_proven_equal_and_then_served(world: World) -> None:
    before = run_roles.current_run(world.settings)
    world.send(mixed(seed=2, count=200))
    done = world.lk("switch", "kappa", "--json").ok().json
    run = runs.read_runs(world.settings)[-1]
    assert (done["run"], run.kind) == (run.id, "replay")
    assert run.id != before
    assert [one["equal"] for one in done["comparisons"]] == [True] * len(world.catalog.views)
    assert modes(world) == {("kappa", run.id)}
    assert kafka_admin.committed_offsets(world.settings, run.id, run.topics) == kafka_admin.end_offsets(
        world.settings, run.topics
    )
    assert sorted(comparisons.latest_by_view(world.settings, run.id)) == sorted(world.catalog.views)
    world.settle()
    world.check()


def test_what_a_run_was_compared_with_must_have_passed_its_gate(world: World) -> None:
    kappa = run_roles.current_run(world.settings)
    assert kappa
    build = comparisons.latest_by_view(world.settings, kappa)[VIEW].build
    (passed,) = [one for one in read_builds(world.settings) if (one.build, one.view) == (build, VIEW)]
    assert passed.passed
    for verdict in (None, False):
        with locks.hold(world.settings, "batch") as lease:
            add_built(world.settings, lease, replace(passed, passed=verdict, at=datetime.now(UTC)))
        with pytest.raises(Refused, match="that was compared have not passed the gate: trades_by_day"):
            change_mode.to_kappa(world.settings, world.catalog, kappa, why="test")
    with locks.hold(world.settings, "batch") as lease:
        add_built(world.settings, lease, replace(passed, at=datetime.now(UTC)))
    assert change_mode.to_kappa(world.settings, world.catalog, kappa, why="test") == world.publication


def test_kappa_needs_no_batch_layer_and_rollback_loses_nothing(world: World) -> None:
    kappa = run_roles.current_run(world.settings)
    batch = world.here("batch", "--json").ok().json
    assert batch["publication"] is None
    plan = world.here("switch", "lambda", "--plan", "--json").ok().json
    assert (plan["mode"], plan["run"], sorted(plan["built"])) == ("kappa", kappa, sorted(world.catalog.views))
    assert (plan["records"], plan["to_land"]) == (len(world.log.records), 0)
    assert plan["measured"] == batch["claim"]["build"]
    world.send(mixed(seed=3, count=200))
    world.settle()
    world.check()
    world.here("rollback", "--json").ok()
    assert {mode for mode, _ in modes(world)} == {"lambda"}
    assert run_roles.current_run(world.settings) != kappa
    world.settle_all()
    world.check()


def test_a_run_that_a_rollback_would_serve_is_retired_only_when_that_is_given_up(world: World) -> None:
    (warm,) = [run for run, role in run_roles.roles(world.settings).items() if role == "warm"]
    refused = world.here("retire", warm, "--json")
    assert (refused.code, "would serve it" in refused.json["error"]) == (1, True)
    world.here("retire", warm, "--final", "--json").ok()
    assert run_roles.roles(world.settings)[warm] == "retired"
    assert files.size(table_paths.run(world.settings, warm)) == 0
    assert warm not in kafka_admin.consumer_groups(world.settings)
    world.check()


def test_a_replay_heeds_its_limit_and_a_change_of_it_while_it_runs(world: World) -> None:
    total = len(world.log.records)
    rate = total // 5  # so that the first epoch's records are worth five seconds
    world.here("replay", "start", "--rate", str(rate), "--json").ok()
    world.here("replay", "wait", "--json").ok()
    world.send(mixed(seed=4, count=20))
    status = world.here("replay", "wait", "--json").ok().json
    run = runs.read_runs(world.settings)[-1].id
    epochs = [epoch for epoch in read_epochs(world.settings, run) if epoch.end.size_since(epoch.start)]
    assert (status["limit"], status["done"]) == (rate, total + 20)
    assert epochs[1].batch_time_ms - epochs[0].batch_time_ms >= 5_000
    assert epochs[0].end.size == total
    world.here("replay", "throttle", "--rate", "1", "--json").ok()
    world.send(mixed(seed=5, count=20))
    assert world.here("replay", "throttle", "--rate", "0", "--json").ok().json["limit"] is None
    assert world.here("replay", "wait", "--json").ok().json["done"] == total + 40
    world.settle()
    world.check()


def test_a_planted_difference_is_found_named_and_refused(world: World) -> None:
    """In the replay of the test before, which goes on, or in one that is started."""
    world.here("replay", "start", "--json").ok()
    world.here("replay", "wait", "--json").ok()
    run, served = runs.read_runs(world.settings)[-1].id, world.pieces.served()
    wanted = planted(world, run)
    assert world.here("compare", "--run", run).code == 1
    said = world.here("switch", "kappa", "--json")
    assert said.code == 1, said.said
    assert "trades_by_day" in said.json["error"]
    assert "cells differ" in said.json["error"]
    assert world.pieces.served() == served
    found = comparisons.latest_by_view(world.settings, run)
    assert sorted((one.view, one.equal) for one in found.values()) == [
        ("trade_stats", True),
        ("trades_by_day", False),
        ("traffic_by_hour", True),
        ("traffic_by_path", True),
    ]
    wrong = found[VIEW]
    assert (wrong.cells, wrong.only_build, wrong.only_run, wrong.repeated, wrong.trino) == (1, 1, 1, 0, False)
    assert [key(dict(row.key)) for row in wrong.first] == wanted
    sql = "SELECT count(*), sum(cells), sum(only_build), sum(only_run) FROM lake.control.comparisons WHERE cells > 0"
    assert list(metastore.query(world.settings, sql).rows) == [(1, 1, 1, 1)]
    world.here("replay", "abandon", "--json").ok()
    assert run_roles.roles(world.settings)[run] == "abandoned"
    world.check()


Key = tuple[str, str]


def planted(world: World, run: Name) -> list[Key]:
    """Changes one cell of a run's partials, drops a key and adds one; gives ticker and day of the three."""
    table = delta.table(table_paths.speed(world.settings, run, VIEW))
    rows = table.to_pyarrow_table().to_pylist()
    changed, dropped = sorted({key(row) for row in rows})[:2]
    first = next(row for row in rows if key(row) == changed)
    added = {**first, "ticker": "ZZZZ"}
    first["volume"] += 1
    kept = [row for row in rows if key(row) != dropped]
    schema = table.to_pyarrow_table().schema
    write_deltalake(table, pa.Table.from_pylist([*kept, added], schema=schema), mode="overwrite")
    return [changed, dropped, key(added)]


def key(row: Mapping[str, Any]) -> Key:
    """Ticker and day."""
    return row["ticker"], str(row["day"])[:10]
