"""A log whose prefix was truncated before or during a replay, and a partition added during a replay."""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from flows import replays
from infra.control import comparisons, run_roles, runs
from infra.control.manifest import last_epoch
from infra.kafka import admin_requests
from speed.process import background
from tests.conftest import fresh_settings
from tests.support.checks import assertions
from tests.support.command import write_config
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed
from tests.support.records.topics import truncate


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    """An own instance with a build of its whole log, so that tests may truncate the log."""
    folder = tmp_path_factory.mktemp("short")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        instance.publish_first(mixed(seed=70, count=400))
        yield instance


@pytest.fixture(scope="module")
def small_epoch_world(world: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The same instance. Its replays run many small epochs."""
    values = tomllib.loads(world.config.read_text("utf-8")) | {"replay_offsets_per_trigger": 60}
    return replace(world, config=write_config(tmp_path_factory.mktemp("slow") / "lk.toml", values))


def start_paused_replay(world: World, *words: str, epoch: int) -> int:
    """Starts a replay that pauses before its n-th epoch. Returns its pid."""
    started = world.spawn("replay", "start", *words, "--json", fault=f"speed.0_before_epoch:{epoch}:pause")
    world.wait_for_proof("speed.0_before_epoch")
    proof = world.take_proof("speed.0_before_epoch")
    started.done()
    return int(proof.split()[1])


def test_a_partition_added_during_a_replay_is_replayed_from_its_first_record(small_epoch_world: World) -> None:
    pid = start_paused_replay(small_epoch_world, epoch=3)
    for future in (
        admin_requests.admin_client(small_epoch_world.settings).create_partitions([NewPartitions("trades", 5)]).values()
    ):
        future.result(30)
    added = [record._replace(partition=4) for record in mixed(seed=71, count=40) if record.topic == "trades"]
    small_epoch_world.send(added)
    os.killpg(pid, signal.SIGCONT)
    switched = small_epoch_world.here("switch", "kappa", "--json").ok().json
    assert [comparison["equal"] for comparison in switched["comparisons"]] == [True] * 4
    last = last_epoch(small_epoch_world.settings, switched["run"])
    assert last
    assert last.end.end(*next((t, p) for t, p, _ in last.end.ends if (t, p) == ("trades", 4))) == len(added)
    small_epoch_world.settle_all()
    small_epoch_world.check()
    small_epoch_world.here("rollback", "--json").ok()
    small_epoch_world.settle_all()
    small_epoch_world.check()


def test_a_prefix_truncated_between_plan_and_start_is_refused_with_its_range(small_epoch_world: World) -> None:
    plan = small_epoch_world.here("switch", "kappa", "--plan", "--json").ok().json
    assert [log["complete"] for log in plan["logs"]] == [True] * 9
    run, served_before = (
        replays.open_or_declare(small_epoch_world.settings, small_epoch_world.catalog).id,
        small_epoch_world.pieces.served(),
    )
    end = small_epoch_world.log.ends["trades", 2]
    truncate(small_epoch_world.settings, "trades", 2, end)
    refused = small_epoch_world.here("replay", "start", "--json")
    assert refused.code == 1, refused.said
    assert f"no longer in the log: trades, partition 2, offsets 0 to {end - 1}" in refused.json["error"]
    assert last_epoch(small_epoch_world.settings, run) is None
    small_epoch_world.here("replay", "abandon", "--json").ok()
    assert small_epoch_world.pieces.served() == served_before


def test_a_prefix_truncated_during_a_replay_stops_it_and_names_the_partition(small_epoch_world: World) -> None:
    small_epoch_world.send(mixed(seed=73, count=400))
    small_epoch_world.settle_all()
    pid = start_paused_replay(small_epoch_world, "--prefix-from-archive", epoch=1)
    small_epoch_world.here("batch", "--json").ok()
    served_before, end = small_epoch_world.pieces.served(), small_epoch_world.log.ends["trades", 2]
    truncate(small_epoch_world.settings, "trades", 2, end)
    os.killpg(pid, signal.SIGCONT)
    small_epoch_world.gone(pid)
    (run,) = [run for run, role in run_roles.roles(small_epoch_world.settings).items() if role == "replay"]
    assert background.alive(small_epoch_world.settings, run) is None
    refused = small_epoch_world.here("switch", "kappa", "--prefix-from-archive", "--json")
    assert refused.code == 1, refused.said
    assert "no longer in the log" in refused.json["error"]
    assert "trades, partition 2" in refused.json["error"]
    small_epoch_world.here("replay", "abandon", "--json").ok()
    assert run_roles.roles(small_epoch_world.settings)[run] == "abandoned"
    assert small_epoch_world.pieces.served() == served_before


def test_a_log_without_its_first_records_is_refused_by_name_and_range(world: World) -> None:
    runs_before, served_before = runs.read_runs(world.settings), world.pieces.served()
    end = world.log.ends["trades", 2]
    for words in (["switch", "kappa", "--plan"], ["switch", "kappa"], ["replay", "start"]):
        refused = world.here(*words, "--json")
        assert refused.code == 1, refused.said
        assert f"no longer in the log: trades, partition 2, offsets 0 to {end - 1}" in refused.json["error"]
        assert "--prefix-from-archive" in refused.json["fix"]
    assert runs.read_runs(world.settings) == runs_before
    assert world.pieces.served() == served_before


def test_the_truncated_prefix_is_replayed_from_the_archive_and_every_report_says_so(world: World) -> None:
    world.send(mixed(seed=72, count=60))
    words = ("switch", "kappa", "--prefix-from-archive")
    for fault in ("replay.1_before_prefix", "replay.1_before_prefix_manifest"):
        ended = world.lk(*words, "--json", fault=f"{fault}:kill")
        assert ended.code == 1, ended.said
        world.take_proof(fault)
    report = world.here(*words).ok().out
    assert "was read from the archive, not from the log" in report
    run = runs.read_runs(world.settings)[-1]
    assert run.prefix.ends
    assert {
        comparison.prefix == run.prefix.only(world.catalog.view(comparison.view).sources)
        for comparison in latest_comparisons(world)
    } == {True}
    world.settle_all()
    world.log.read()
    assertions.check(world.pieces, world.log)
    assert "prefix from the archive" in world.here("replay", "status", "--run", run.id).ok().out


def latest_comparisons(world: World) -> list[comparisons.Comparison]:
    latest = list(comparisons.latest_by_view(world.settings, runs.read_runs(world.settings)[-1].id).values())
    assert len(latest) == len(world.catalog.views)
    return latest
