"""Every process is killed at once, and the files that none has waited for are empty, as after a power loss."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from core.identifiers import Name
from infra.lake import table_paths
from infra.local import local_processes
from speed.process import background
from tests.conftest import fresh_settings
from tests.support.faults.harms import empty
from tests.support.faults.killing import kill
from tests.support.faults.power_loss import not_synced
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed

VIEW = Name("trade_stats")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    """An own instance with a run that has epochs after a published build."""
    folder = tmp_path_factory.mktemp("power")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        instance.publish_first(mixed(seed=80, count=400))
        instance.send(mixed(seed=81, count=200))
        instance.settle()
        yield instance


def test_after_a_power_loss_lk_repair_serves_every_record_again(world: World) -> None:
    settings, lost = world.settings, world.run
    served = world.publication.pins[VIEW].build
    assert served
    build = table_paths.batch(settings, VIEW, served)
    for name in (background.name(lost), "kafka", "trino"):
        process = local_processes.recorded(settings, name)
        assert process
        kill(process.pid)
    emptied = not_synced(settings, lost, build)
    for file in emptied:
        empty(file)
    for verb in ("up", "status", "batch"):
        refused = world.here(verb, "--json")
        assert (refused.code, "a file of the lake is empty" in refused.json["error"]) == (1, True), refused.said
    scrubbed = world.here("scrub", "--json")
    assert scrubbed.code == 1
    of_lake = {str(file) for file in emptied if str(file).startswith(settings.lake_root)}
    assert of_lake <= {file["path"] for file in scrubbed.json["damaged"]}
    repaired = world.here("repair", "--json").ok().json
    assert any(f"run {lost} was replaced by" in text for text in repaired["repaired"]), repaired
    world.here("retire", lost, "--final", "--json").ok()
    assert world.here("scrub", "--json").ok().json["damaged"] == []
    world.send(mixed(seed=82, count=100))
    world.settle()
    world.check()
