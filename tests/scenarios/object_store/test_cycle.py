"""A full cycle (speed, Lambda, Kappa, Lambda, rollback) with the lake and the checkpoints in an object store."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.land import land
from infra.control import run_roles
from infra.control.claims import claim_of
from infra.lake import checksums, delta, files, idempotent_writes, table_paths
from tests.conftest import fresh_settings
from tests.support.checks import assertions
from tests.support.instances.world import World
from tests.support.records.load import mixed, poison
from tests.support.records.pieces import Pieces
from tests.support.servers.s3_store import S3Server


def modes(world: World) -> set[str]:
    """The modes of the views in `lk status`."""
    return {view["mode"] for view in json.loads(world.here("status", "--json").out)["views"]}


def test_from_speed_alone_to_lambda_with_late_and_broken_records(world: World) -> None:
    world.send([*mixed(seed=1, count=300), *(record for record, _ in poison())])
    world.settle()
    world.check()
    world.lk("batch", "--json").ok()
    world.send(mixed(seed=2, count=200))
    world.settle()
    world.check()
    assert modes(world) == {"lambda"}


def test_a_replay_is_proven_equal_and_serves_alone(world: World) -> None:
    run_before = run_roles.current_run(world.settings)
    switched = world.lk("switch", "kappa", "--json").ok().json
    assert [comparison["equal"] for comparison in switched["comparisons"]] == [True] * len(world.catalog.views)
    assert switched["run"] == run_roles.current_run(world.settings) != run_before
    world.send(mixed(seed=3, count=200))
    world.settle()
    world.check()
    assert modes(world) == {"kappa"}


def test_back_in_lambda_the_build_is_what_a_local_lake_gives(world: World, spark: SparkSession, tmp_path: Path) -> None:
    """Lands and builds the same log again on a local disk, with a session without S3."""
    world.lk("switch", "lambda", "--json").ok()
    world.check()
    assert modes(world) == {"lambda"}
    settings = fresh_settings(tmp_path).model_copy(update={"bootstrap": world.settings.bootstrap_servers})
    local_claim = claim(settings, world.catalog)
    land(spark, settings, world.catalog, local_claim.cut)
    build(spark, settings, world.catalog, local_claim)
    local_lake = Pieces(settings, world.catalog)
    for name, pin in world.publication.pins.items():
        assert pin.build
        assert claim_of(world.settings, pin.build).cut == local_claim.cut
        view = world.catalog.view(name)
        assertions.same(str(name), world.pieces.batch(view, pin.build), local_lake.batch(view, local_claim.build))


def test_a_rollback_and_a_retired_run_leave_what_is_served_exact(world: World) -> None:
    world.here("rollback", "--json").ok()
    assert modes(world) == {"kappa"}
    (idle_run,) = [run for run, role in run_roles.roles(world.settings).items() if role == "idle"]
    paths = [table_paths.run(world.settings, idle_run), table_paths.checkpoint(world.settings, idle_run)]
    assert min(map(files.size, paths)) > 0
    world.here("retire", idle_run, "--json").ok()
    assert list(map(files.size, paths)) == [0, 0]
    world.here("cleanup", "--json").ok()
    world.check()


def test_the_local_disk_holds_no_lake_and_no_checkpoints(world: World, store: S3Server) -> None:
    stored_folders = {key.split("/")[2] for key in store.keys("cycle/lake/")}
    assert {"FORMAT", "_metastore", "archive", "batch", "control", "speed"} <= stored_folders
    assert [key for key in store.keys("cycle/checkpoints/") if "/offsets/" in key] != []
    local_names = {path.name for path in world.settings.data.iterdir()}
    assert local_names & {"lake", "checkpoints"} == set()


def test_checksums_of_commits_make_no_objects_for_folders(world: World, store: S3Server) -> None:
    """Arrow would put an object for each level of the path, with every commit."""
    path = world.settings.lake_root.replace("/cycle/lake", "/counted")
    delta.create(path, pa.schema({"n": pa.int64()}))
    for number in range(3):
        rows = pa.Table.from_pylist([{"n": number}])
        checksums.record(path, idempotent_writes.append_once(path, rows, "test", number) or 0)
    checksums.finish()
    keys = [key for key in store.keys("counted/") if "/_checksums" in key]
    assert keys == [f"counted/_checksums/{version}.json" for version in (1, 2, 3)]
