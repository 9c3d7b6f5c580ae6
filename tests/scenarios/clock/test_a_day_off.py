"""The clock of the machine that runs every verb is a day ahead, then a day late, while Kafka and Trino have theirs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infra.control import run_roles
from infra.control.claims import read_claims
from infra.control.manifest import last_epoch
from tests.conftest import fresh_settings
from tests.support.faults.other_clock import clock_off, preloaded
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preloaded(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[World]:
    """An instance in Lambda whose builds, epochs and publication have the right time."""
    folder = tmp_path_factory.mktemp("instance")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        instance.publish_first(mixed(seed=1, count=200))
        yield instance


def off_by(moment: datetime) -> timedelta:
    """How far a moment that was noted just now is from the right time, in whole days."""
    return timedelta(days=round((moment - datetime.now(UTC)) / DAY))


@pytest.mark.parametrize("step", [DAY, -DAY], ids=["ahead", "late"])
def test_verbs_under_a_clock_a_day_off_give_the_same(world: World, library: Path, step: timedelta) -> None:
    with clock_off(library, step):
        world.lk("speed", "stop", "--json").ok()
        world.lk("speed", "start", "--json").ok()
        world.send(mixed(seed=2, count=120))
        world.settle()
        epoch = last_epoch(world.settings, world.run)
        assert epoch is not None
        assert off_by(epoch.committed_at) == step
        assert world.lk("batch", "--json").ok().json["publication"] is not None
        assert off_by(read_claims(world.settings)[-1].at) == step
    world.check()
    with clock_off(library, step):
        switched = world.lk("switch", "kappa", "--json").ok().json
        assert [comparison["equal"] for comparison in switched["comparisons"]] == [True] * len(world.catalog.views)
        world.send(mixed(seed=3, count=80))
        world.settle_all()
    world.check()
    with clock_off(library, step):
        world.lk("switch", "lambda", "--json").ok()
        served_before = world.pieces.served()
        for run, role in run_roles.roles(world.settings).items():
            if role in ("idle", "warm"):
                world.lk("retire", run, "--final", "--json").ok()
        world.lk("cleanup", "--json").ok()
        world.lk("scrub", "--json").ok()
        assert world.lk("audit", "verify", "--json").ok().json["broken"] == ""
        assert world.pieces.served() == served_before
    world.check()
    world.lk("batch", "--json").ok()  # the clock is right again, after what has a later time
    world.check()
