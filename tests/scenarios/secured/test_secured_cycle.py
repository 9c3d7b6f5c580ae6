"""Everything under the rights of access.toml: each verb has its own login, and every number stays exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from infra.control import run_roles
from infra.kafka import acls, kafka_admin
from infra.kafka.client_config import as_principal
from infra.local.secured import users
from infra.settings import Settings
from infra.settings.local_secrets import BROKER
from tests.conftest import fresh_settings
from tests.scenarios.kills.test_redrive_kills import copies, repaired, unreadable
from tests.support.instances.route_split import OUTPUTS, ROUTE, SOURCES, opened
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed


def with_passwords(settings: Settings) -> Settings:
    """Makes the instance ask for passwords; the test itself logs in as the broker, and each verb as its principal."""
    users.make_secrets(settings)
    return as_principal(settings, BROKER)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("secured")
    settings = with_passwords(fresh_settings(folder / "data").model_copy(update={"fold_epochs": 4}))
    with running_world(settings, folder) as instance:
        instance.here("topics", "apply", "--json").ok()
        instance.lk("speed", "start", "--json").ok()
        instance.send(mixed(seed=1, count=300))
        instance.settle()
        yield instance


def test_the_batch_layer_and_the_speed_layer_are_merged_exactly(world: World) -> None:
    world.here("batch", "--json").ok()
    world.send(mixed(seed=2, count=100))
    world.settle()
    world.check()
    world.here("compare", "--served", "--json").ok()


def test_a_replay_is_proven_equal_and_served_and_the_way_back_is_exact(world: World) -> None:
    before = run_roles.current_run(world.settings)
    switched = world.lk("switch", "kappa", "--json").ok().json
    assert [comparison["equal"] for comparison in switched["comparisons"]] == [True] * len(world.catalog.views)
    assert run_roles.current_run(world.settings) == switched["run"] != before
    world.settle()
    world.check()
    world.here("rollback", "--json").ok()
    assert run_roles.current_run(world.settings) == before
    world.settle()
    world.check()
    assert kafka_admin.group_exists(world.settings, switched["run"])
    world.here("retire", switched["run"], "--final", "--json").ok()
    assert not kafka_admin.group_exists(world.settings, switched["run"])


def test_a_repaired_record_is_sent_once_and_counted(world: World, tmp_path: Path) -> None:
    world.send([unreadable(world, number) for number in range(3)])
    world.settle()
    file = repaired(world, tmp_path / "repaired.jsonl")
    assert world.here("quarantine", "redrive", str(file), "--json").ok().json["sent"] == 3
    assert sorted(copies(world).values()) == [1, 1, 1]
    world.settle()
    world.check()


def test_upkeep_and_the_way_back_from_the_log_need_no_other_right(world: World) -> None:
    record = world.log.records[0]
    place = (record.topic, str(record.partition), str(record.offset))
    for verb in (("cleanup",), ("scrub",), ("quality",), ("runs",), ("trace", *place)):
        world.here(*verb, "--json").ok()
    world.lk("speed", "stop", "--json").ok()
    world.lk("speed", "start", "--json").ok()
    world.settle()
    world.check()


def test_a_route_copies_every_record_once(tmp_path: Path) -> None:
    with opened(tmp_path, with_passwords) as split:
        acls.allow_writes(split.settings, ["dropped_output"])
        split.lk("route", "start", ROUTE, "--json").ok()
        assert acls.given_writes(split.settings) == set(OUTPUTS)
        split.settle()
        split.check()
        split.send(50)
        split.settle()
        split.check()
        (state,) = split.lk("route", "status", "--json").ok().json
        assert (state["behind"], state["exact"]) == (0, True)
        positions = kafka_admin.committed_offsets(as_principal(split.settings, "batch"), split.owner, SOURCES)
        assert positions == kafka_admin.end_offsets(split.settings, SOURCES), "`lk status` and `lk trace` read them"
        split.lk("route", "stop", ROUTE, "--json").ok()
