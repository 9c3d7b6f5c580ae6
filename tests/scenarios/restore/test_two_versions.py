"""A checkout of a newer program and this one share a lake for a whole cycle, in turn.

The newer program writes a column more into every control table, as a version does that its FORMAT still allows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from infra.control import builds, claims, publications
from infra.control.store import ControlTable
from infra.lake import delta
from infra.project_files import ROOT
from tests.conftest import fresh_settings
from tests.support.command import Done, environment
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed

STORE = "infra/control/store.py"
APPEND = "opened = leases.append(lease, path, pa.Table.from_pylist(list(rows), schema=self.schema))"
WIDER = """wider = self.schema.append(pa.field("mood", TEXT))
        if delta.exists(path):
            delta.add_missing_columns(path, wider)
        opened = leases.append(lease, path, pa.Table.from_pylist([{**row, "mood": "new"} for row in rows], wider))"""
FOLDERS = ("batch", "cli", "core", "dags", "data", "flows", "infra", "serving", "speed", "views")
TABLES = (claims.TABLE, builds.TABLE, publications.TABLE)


@dataclass(frozen=True)
class Checkout:
    """A checkout of the program, run in processes of its own on the lake of ``world``."""

    folder: Path
    world: World

    def lk(self, *words: str) -> Done:
        """Runs ``lk WORDS`` of this checkout to its end, which must be 0."""
        completed = subprocess.run(
            [sys.executable, "-m", "cli", "-c", str(self.world.config), *words, "--json"],
            cwd=self.folder,
            env=environment() | {"PYTHONPATH": str(self.folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Done(" ".join(words), completed.returncode, completed.stdout, completed.stderr).ok()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("versions")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        yield instance


def newer(folder: Path) -> Path:
    """A copy of this checkout whose control tables have a column more."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    text = (folder / STORE).read_text("utf-8")
    assert text.count(APPEND) == 1
    (folder / STORE).write_text(text.replace(APPEND, WIDER), "utf-8")
    return folder


def moods(world: World, table: ControlTable) -> set[str | None]:
    """Who wrote the rows of a control table: "new", or None for this program."""
    return set(delta.read(table.path(world.settings))["mood"].to_pylist())


def test_an_older_and_a_newer_program_share_a_lake_for_a_whole_cycle(world: World, tmp_path: Path) -> None:
    new = Checkout(newer(tmp_path / "newer"), world)
    world.start_speed()
    world.send(mixed(seed=90, count=200))
    world.settle()
    world.here("batch", "--json").ok()
    world.check()
    world.stop_speed()

    new.lk("speed", "start")  # goes on with the run
    world.send(mixed(seed=91, count=200))
    world.settle()
    built = new.lk("batch", "--incremental").json["built"]
    assert {build["how"] for build in built} == {"incremental"}
    new.lk("switch", "kappa")
    world.check()
    new.lk("speed", "stop")

    world.start_speed()
    world.send(mixed(seed=92, count=200))
    world.settle_all()
    world.here("rollback", "--json").ok()
    world.here("batch", "--json").ok()
    world.here("cleanup", "--json").ok()
    new.lk("status")
    assert {table.name: moods(world, table) for table in TABLES} == {table.name: {"new", None} for table in TABLES}
    world.check()
