"""From Lambda to Kappa and back on real servers: every answer stays exact."""

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
from infra.control.manifest import read_epochs
from infra.kafka import kafka_admin
from infra.lake import delta, files, table_paths
from infra.trino import metastore
from serving import change_mode
from tests.support.instances.world import World
from tests.support.records.load import mixed

VIEW = Name("trades_by_day")


def modes(world: World) -> set[tuple[str, str | None]]:
    """Mode and run of every view in `lk status`."""
    views = json.loads(world.here("status", "--json").out)["views"]
    return {(view["mode"], view["run"]) for view in views}


def test_a_replayed_run_is_proven_equal_and_then_served(world: World) -> None:
    run_before = run_roles.current_run(world.settings)
    world.send(mixed(seed=2, count=200))
    switched = world.lk("switch", "kappa", "--json").ok().json
    run = runs.read_runs(world.settings)[-1]
    assert (switched["run"], run.kind) == (run.id, "replay")
    assert run.id != run_before
    assert [comparison["equal"] for comparison in switched["comparisons"]] == [True] * len(world.catalog.views)
    assert modes(world) == {("kappa", run.id)}
    assert kafka_admin.committed_offsets(world.settings, run.id, run.topics) == kafka_admin.end_offsets(
        world.settings, run.topics
    )
    assert sorted(comparisons.latest_by_view(world.settings, run.id)) == sorted(world.catalog.views)
    world.settle()
    world.check()


def test_a_run_serves_only_if_the_compared_build_passed_its_gate(world: World) -> None:
    kappa_run = run_roles.current_run(world.settings)
    assert kappa_run
    build = comparisons.latest_by_view(world.settings, kappa_run)[VIEW].build
    (passed_build,) = [built for built in read_builds(world.settings) if (built.build, built.view) == (build, VIEW)]
    assert passed_build.passed
    for verdict in (None, False):
        with locks.hold(world.settings, "batch") as lease:
            add_built(world.settings, lease, replace(passed_build, passed=verdict, at=datetime.now(UTC)))
        with pytest.raises(Refused, match="of the compared build have not passed the gate: trades_by_day"):
            change_mode.to_kappa(world.settings, world.catalog, kappa_run, why="test")
    with locks.hold(world.settings, "batch") as lease:
        add_built(world.settings, lease, replace(passed_build, at=datetime.now(UTC)))
    assert change_mode.to_kappa(world.settings, world.catalog, kappa_run, why="test") == world.publication


def test_kappa_needs_no_batch_layer_and_rollback_loses_nothing(world: World) -> None:
    kappa_run = run_roles.current_run(world.settings)
    batch = world.here("batch", "--json").ok().json
    assert batch["publication"] is None
    plan = world.here("switch", "lambda", "--plan", "--json").ok().json
    assert (plan["mode"], plan["run"], sorted(plan["built"])) == ("kappa", kappa_run, sorted(world.catalog.views))
    assert (plan["records"], plan["to_land"]) == (len(world.log.records), 0)
    assert plan["measured"] == batch["claim"]["build"]
    world.send(mixed(seed=3, count=200))
    world.settle()
    world.check()
    world.here("rollback", "--json").ok()
    assert {mode for mode, _ in modes(world)} == {"lambda"}
    assert run_roles.current_run(world.settings) != kappa_run
    world.settle_all()
    world.check()


def test_a_run_that_a_rollback_would_serve_is_retired_only_with_final(world: World) -> None:
    (warm_run,) = [run for run, role in run_roles.roles(world.settings).items() if role == "warm"]
    refused = world.here("retire", warm_run, "--json")
    assert (refused.code, "would serve it" in refused.json["error"]) == (1, True)
    world.here("retire", warm_run, "--final", "--json").ok()
    assert run_roles.roles(world.settings)[warm_run] == "retired"
    assert files.size(table_paths.run(world.settings, warm_run)) == 0
    assert warm_run not in kafka_admin.consumer_groups(world.settings)
    world.check()


def test_a_replay_obeys_its_rate_and_a_change_of_it_while_it_runs(world: World) -> None:
    total = len(world.log.records)
    rate = total // 5  # so that the first epoch takes five seconds of the rate
    world.here("replay", "start", "--rate", str(rate), "--json").ok()
    world.here("replay", "wait", "--json").ok()
    world.send(mixed(seed=4, count=20))
    world.settle_all()  # `replay wait` may end a few records before: the last epochs were small
    status = world.here("replay", "status", "--json").ok().json
    run = runs.read_runs(world.settings)[-1].id
    epochs = [epoch for epoch in read_epochs(world.settings, run) if epoch.end.size_since(epoch.start)]
    assert (status["limit"], status["read"]) == (rate, total + 20)
    assert epochs[1].batch_time_ms - epochs[0].batch_time_ms >= 5_000
    assert epochs[0].end.size == total
    world.here("replay", "throttle", "--rate", "1", "--json").ok()
    world.send(mixed(seed=5, count=20))
    assert world.here("replay", "throttle", "--rate", "0", "--json").ok().json["limit"] is None
    world.here("replay", "wait", "--json").ok()
    world.settle_all()
    assert world.here("replay", "status", "--json").ok().json["read"] == total + 40
    world.check()


def test_a_planted_difference_is_found_named_and_refused(world: World) -> None:
    """Uses the replay of the test before, or starts one."""
    world.here("replay", "start", "--json").ok()
    world.here("replay", "wait", "--json").ok()
    run, served_before = runs.read_runs(world.settings)[-1].id, world.pieces.served()
    expected_keys = plant_differences(world, run)
    assert world.here("compare", "--run", run).code == 1
    refused = world.here("switch", "kappa", "--json")
    assert refused.code == 1, refused.said
    assert "trades_by_day" in refused.json["error"]
    assert "cells differ" in refused.json["error"]
    assert world.pieces.served() == served_before
    comparison_by_view = comparisons.latest_by_view(world.settings, run)
    assert sorted((comparison.view, comparison.equal) for comparison in comparison_by_view.values()) == [
        ("trade_stats", True),
        ("trades_by_day", False),
        ("traffic_by_hour", True),
        ("traffic_by_path", True),
    ]
    failed = comparison_by_view[VIEW]
    assert (failed.cells, failed.only_build, failed.only_run, failed.repeated, failed.trino) == (1, 1, 1, 0, False)
    assert [key(dict(row.key)) for row in failed.first] == expected_keys
    sql = "SELECT count(*), sum(cells), sum(only_build), sum(only_run) FROM lake.control.comparisons WHERE cells > 0"
    assert list(metastore.query(world.settings, sql).rows) == [(1, 1, 1, 1)]
    world.here("replay", "abandon", "--json").ok()
    assert run_roles.roles(world.settings)[run] == "abandoned"
    world.check()


Key = tuple[str, str]


def plant_differences(world: World, run: Name) -> list[Key]:
    """Changes one cell of a run's partial rows, drops a key and adds a key. Returns the three keys (ticker, day)."""
    table = delta.table(table_paths.speed(world.settings, run, VIEW))
    rows = table.to_pyarrow_table().to_pylist()
    changed, dropped = sorted({key(row) for row in rows})[:2]
    first = next(row for row in rows if key(row) == changed)
    added = {**first, "ticker": "ZZZZ"}
    first["volume"] += 1
    remaining_rows = [row for row in rows if key(row) != dropped]
    schema = table.to_pyarrow_table().schema
    write_deltalake(table, pa.Table.from_pylist([*remaining_rows, added], schema=schema), mode="overwrite")
    return [changed, dropped, key(added)]


def key(row: Mapping[str, Any]) -> Key:
    """The key of a row: ticker and day."""
    return row["ticker"], str(row["day"])[:10]
