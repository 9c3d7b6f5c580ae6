"""A log whose head is gone, before and during a replay, and a partition that comes in the middle of one."""

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
from infra.control.epochs import last_epoch
from infra.kafka import kafka_admin
from infra.local import local_stack
from speed.process import background
from tests.conftest import fresh_settings
from tests.support import assertions
from tests.support import world as worlds
from tests.support.command import write_config
from tests.support.load import mixed
from tests.support.topics import truncate
from tests.support.world import World


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    """An instance of its own, with a build that holds all of its log: its head may be deleted."""
    folder = tmp_path_factory.mktemp("short")
    made = worlds.make(fresh_settings(folder / "data"), folder)
    try:
        made.start_speed()
        made.send(mixed(seed=70, count=400))
        made.settle()
        made.here("batch", "--json").ok()
        yield made
    finally:
        local_stack.stop_servers(made.settings)


@pytest.fixture(scope="module")
def slow(short: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The same instance, with replays of many small epochs."""
    values = tomllib.loads(short.config.read_text("utf-8")) | {"replay_offsets_per_trigger": 60}
    return replace(short, config=write_config(tmp_path_factory.mktemp("slow") / "lk.toml", values))


def paused(world: World, *words: str, epoch: int) -> int:
    """Starts a replay that stops itself before it reads its n-th epoch, and gives its pid."""
    started = world.spawn("replay", "start", *words, "--json", fault=f"speed.0_before_epoch:{epoch}:pause")
    world.wait_for_proof("speed.0_before_epoch")
    proof = world.take_proof("speed.0_before_epoch")
    started.done()
    return int(proof.split()[1])


def test_a_partition_added_during_a_replay_is_replayed_from_its_first_record(slow: World) -> None:
    pid = paused(slow, epoch=3)
    for future in kafka_admin.admin_client(slow.settings).create_partitions([NewPartitions("trades", 5)]).values():
        future.result(30)
    added = [one._replace(partition=4) for one in mixed(seed=71, count=40) if one.topic == "trades"]
    slow.send(added)
    os.killpg(pid, signal.SIGCONT)
    done = slow.here("switch", "kappa", "--json").ok().json
    assert [one["equal"] for one in done["comparisons"]] == [True] * 4
    last = last_epoch(slow.settings, done["run"])
    assert last
    assert last.end.end(*next((t, p) for t, p, _ in last.end.ends if (t, p) == ("trades", 4))) == len(added)
    slow.settle_all()
    slow.check()
    slow.here("rollback", "--json").ok()
    slow.settle_all()
    slow.check()


def test_a_head_deleted_between_plan_and_start_is_refused_with_its_range(slow: World) -> None:
    plan = slow.here("switch", "kappa", "--plan", "--json").ok().json
    assert [log["complete"] for log in plan["logs"]] == [True] * 9
    run, served = replays.open_or_declare(slow.settings, slow.catalog).id, slow.pieces.served()
    end = slow.log.ends["trades", 2]
    truncate(slow.settings, "trades", 2, end)
    said = slow.here("replay", "start", "--json")
    assert said.code == 1, said.said
    assert f"no longer in the log: trades, partition 2, offsets 0 to {end - 1}" in said.json["error"]
    assert last_epoch(slow.settings, run) is None
    slow.here("replay", "abandon", "--json").ok()
    assert slow.pieces.served() == served


def test_a_head_deleted_during_a_replay_stops_it_and_says_where(slow: World) -> None:
    slow.send(mixed(seed=73, count=400))
    slow.settle_all()
    pid = paused(slow, "--prefix-from-archive", epoch=1)
    slow.here("batch", "--json").ok()
    served, end = slow.pieces.served(), slow.log.ends["trades", 2]
    truncate(slow.settings, "trades", 2, end)
    os.killpg(pid, signal.SIGCONT)
    slow.gone(pid)
    (run,) = [run for run, role in run_roles.roles(slow.settings).items() if role == "replay"]
    assert background.alive(slow.settings, run) is None
    said = slow.here("switch", "kappa", "--prefix-from-archive", "--json")
    assert said.code == 1, said.said
    assert "no longer in the log" in said.json["error"]
    assert "trades, partition 2" in said.json["error"]
    slow.here("replay", "abandon", "--json").ok()
    assert run_roles.roles(slow.settings)[run] == "abandoned"
    assert slow.pieces.served() == served


def test_a_log_without_its_head_is_refused_by_name_and_range(short: World) -> None:
    known, served = runs.read_runs(short.settings), short.pieces.served()
    end = short.log.ends["trades", 2]
    for words in (["switch", "kappa", "--plan"], ["switch", "kappa"], ["replay", "start"]):
        said = short.here(*words, "--json")
        assert said.code == 1, said.said
        assert f"no longer in the log: trades, partition 2, offsets 0 to {end - 1}" in said.json["error"]
        assert "--prefix-from-archive" in said.json["fix"]
    assert runs.read_runs(short.settings) == known
    assert short.pieces.served() == served


def test_the_head_is_replayed_from_the_archive_and_every_report_says_so(short: World) -> None:
    short.send(mixed(seed=72, count=60))
    words = ("switch", "kappa", "--prefix-from-archive")
    for fault in ("replay.1_before_prefix", "replay.1_before_prefix_manifest"):
        ended = short.lk(*words, "--json", fault=f"{fault}:kill")
        assert ended.code == 1, ended.said
        short.take_proof(fault)
    said = short.here(*words).ok().out
    assert "was read from the archive, not from the log" in said
    run = runs.read_runs(short.settings)[-1]
    assert run.head.ends
    assert {one.head == run.head.only(short.catalog.view(one.view).sources) for one in compared(short)} == {True}
    short.settle_all()
    short.log.read()
    assertions.check(short.pieces, short.log)
    assert "prefix from the archive" in short.here("replay", "status", "--run", run.id).ok().out


def compared(world: World) -> list[comparisons.Comparison]:
    found = list(comparisons.latest_by_view(world.settings, runs.read_runs(world.settings)[-1].id).values())
    assert len(found) == len(world.catalog.views)
    return found
