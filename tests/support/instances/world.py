"""The instance of the fault tests: the actions on it, and the check of its tables against the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from core.catalog import Catalog
from core.errors import LkError
from core.identifiers import Name
from flows import speed
from infra import faults
from infra.control import run_roles, runs
from infra.control.manifest import last_epoch
from infra.control.publications import Publication, read_publications
from infra.definitions import definition_files
from infra.faults import MARKER, VARIABLE
from infra.kafka import kafka_admin
from infra.lake import delta
from infra.local import local_processes, local_stack
from infra.settings import Settings
from speed.process import background, lifecycle
from tests.conftest import IDLE
from tests.support.checks import assertions
from tests.support.command import Done, Running, here, lk, spawn, write_config
from tests.support.faults.killing import has_ended
from tests.support.instances.committed_log import wait_until_committed
from tests.support.records.kafka_log import Ends, Log, Sent, send
from tests.support.records.pieces import Pieces
from tests.support.waiting import eventually, tails

TOPICS = ("access_log", "trades")
LEASE_SECONDS = 12.0  # six heartbeats; a busy machine delays one of them by a second or two


@dataclass
class World:
    """A running instance for fault injection, its settings file, and its log."""

    settings: Settings
    config: Path
    catalog: Catalog
    log: Log
    marks: list[Ends] = field(default_factory=list)

    def lk(self, *words: str, fault: str | None = None, seconds: float = 300.0) -> Done:
        """Runs a verb in its own process."""
        return lk(self.config, *words, fault=fault, seconds=seconds)

    def here(self, *words: str) -> Done:
        """Runs a verb in this process."""
        return here(self.config, *words)

    def spawn(self, *words: str, fault: str | None = None) -> Running:
        """Starts a verb and returns at once."""
        return spawn(self.config, *words, fault=fault)

    def send(self, records: Iterable[Sent]) -> None:
        """Appends to the log, reads it back, and adds its end offsets to ``marks``."""
        send(self.settings, records)
        self.log.read()
        self.marks.append(dict(self.log.ends))

    @property
    def run(self) -> Name:
        """The serving run, or the newest run if no run serves."""
        return run_roles.current_run(self.settings) or runs.read_runs(self.settings)[-1].id

    @property
    def publication(self) -> Publication:
        """The newest completed publication."""
        return self.publications[-1]

    @property
    def publications(self) -> list[Publication]:
        """The completed publications, oldest first."""
        return [publication for publication in read_publications(self.settings) if publication.state == "done"]

    @property
    def epoch(self) -> int:
        """The last committed epoch of ``run``, or -1 before the first."""
        last = last_epoch(self.settings, self.run)
        return last.number if last else -1

    def start_speed(self, fault: str | None = None, changed: Mapping[str, int] | None = None) -> int:
        """Starts or resumes the run and returns its pid. With a fault, the process may die during the start."""
        with pytest.MonkeyPatch.context() as patch:
            if fault:
                patch.setenv(VARIABLE, fault)
            settings = self.settings.model_copy(update=dict(changed or {}))
            try:
                speed.start(settings, self.catalog)
            except LkError:
                if not fault:
                    raise
        process = local_processes.recorded(self.settings, background.name(self.run))
        assert process, tails(self.settings)
        return process.pid

    def publish_first(self, records: Iterable[Sent]) -> None:
        """Starts a run, and publishes a build of all these records."""
        self.start_speed()
        self.send(records)
        self.settle()
        self.here("batch", "--json").ok()

    def stop_speed(self) -> None:
        """Stops the run between two epochs."""
        assert speed.stop(self.settings).phase == "stopped", tails(self.settings)

    def running(self) -> int:
        """Starts the run unless its process is alive. Returns the pid."""
        alive = background.alive(self.settings, self.run) if runs.read_runs(self.settings) else None
        return alive.pid if alive else self.start_speed()

    def died(self, pid: int, point: str, seconds: float = 180.0) -> None:
        """Waits until the run's process was killed at a fault point. Fails if the process ended in another way."""
        name = background.name(self.run)

        def gone() -> None:
            assert local_processes.running_process(self.settings, name) is None, (
                f"{name} still runs, {point} was not reached"
            )

        eventually(self.settings, seconds, gone)
        assert self.take_proof(point).startswith(f"kill {pid} ")
        assert lifecycle.status(self.settings).phase == "died"

    def settle(self, seconds: float = 180.0) -> None:
        """Waits until the run has committed the whole log."""
        wait_until_committed(self.settings, self.run, TOPICS, seconds)

    def settle_all(self, seconds: float = 180.0) -> None:
        """Waits until every run with a live process has committed the whole log."""
        driven = [run for run in runs.read_runs(self.settings) if background.alive(self.settings, run.id)]
        assert driven, "no run is driven"

        def caught_up() -> None:
            ends = kafka_admin.end_offsets(self.settings, TOPICS)
            for run in driven:
                last = last_epoch(self.settings, run.id)
                assert last, f"{run.id} has no epoch yet"
                assert last.end == ends, f"{run.id} committed {last.end} of {ends}"

        eventually(self.settings, seconds, caught_up)

    def serve_lambda(self) -> None:
        """Switches to Lambda unless Lambda serves already."""
        if {pin.mode for pin in self.publication.pins.values()} != {"lambda"}:
            self.here("switch", "lambda", "--json").ok()

    def build(self, spark: SparkSession) -> Name:
        """Claims, lands, builds and gates in this process, with its Spark session. Does not publish the build."""
        claimed = claim(self.settings, self.catalog)
        land(spark, self.settings, self.catalog, claimed.cut)
        build(spark, self.settings, self.catalog, claimed)
        require_passed(gate(spark, self.settings, self.catalog, claimed))
        return claimed.build

    def versions(self, *areas: str) -> dict[str, int]:
        """The version of every table in these areas of the lake."""
        root = Path(self.settings.lake_root)
        tables = [log.parent for area in areas for log in sorted((root / area).rglob("_delta_log"))]
        return {str(table.relative_to(root)): delta.version(str(table)) for table in tables}

    def gone(self, pid: int, seconds: float = 180.0) -> None:
        """Waits until a process has ended."""

        def ended() -> None:
            assert has_ended(pid)

        eventually(self.settings, seconds, ended)

    def wait_for_proof(self, point: str, seconds: float = 180.0) -> None:
        """Waits until a fault has written its proof."""

        def proven() -> None:
            assert faults.proof(self.settings, point).is_file(), f"{point} was not reached"

        eventually(self.settings, seconds, proven)

    def take_proof(self, point: str) -> str:
        """Returns the proof of a fault (action, pid and hit) and deletes it, so that later tests do not read it."""
        path = faults.proof(self.settings, point)
        assert path.is_file(), f"{point} was not reached\n{tails(self.settings)}"
        text = path.read_text("utf-8").strip()
        path.unlink()
        return text

    def check(self, *, healthy: bool = True) -> None:
        """Fails unless every view, build, archive and quarantine equals the oracle's rows of the log.

        A run must have committed the whole log.
        """
        self.log.read()
        assertions.check(self.pieces, self.log)
        assertions.check_commits(self.pieces)
        if healthy:
            assertions.check_status(self.pieces, self.log)

    def whole(self) -> list[int]:
        """Fails unless each view shows the log up to one of the marks. Returns the index of each view's mark."""
        return assertions.whole(self.pieces, self.log, self.marks)

    @property
    def pieces(self) -> Pieces:
        """Readers of the tables and views of this instance."""
        return Pieces(self.settings, self.catalog)


@contextmanager
def running_world(settings: Settings, folder: Path) -> Iterator[World]:
    """An instance that allows fault injection, with its servers. Stops them at the end of the block."""
    conf = IDLE | settings.spark_conf
    changed = {"fold_behind": 2, "lease_seconds": LEASE_SECONDS, "yield_seconds": 0.2, "spark_conf": conf}
    settings = settings.model_copy(update=changed)
    values = settings.model_dump(mode="json", exclude_defaults=True) | {"spark_conf": json.dumps(conf)}
    config = write_config(folder / "lk.toml", values)
    try:
        local_stack.start_servers(settings)
        (settings.data / MARKER).touch()
        yield World(settings, config, definition_files.load(settings), Log(settings, TOPICS))
    finally:
        local_stack.stop_servers(settings)
