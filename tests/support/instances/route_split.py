"""An instance with one route and a broker, without Trino. Its log grows from test to test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from core.catalog import Catalog
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from infra import faults
from infra.control import route_runs
from infra.definitions import definition_files
from infra.faults import MARKER
from infra.kafka import kafka_admin, topic_admin
from infra.local import local_stack
from infra.project_files import VIEWS
from infra.settings import LOOPBACK, Settings
from speed.process import background
from speed.routes.planner import reached
from tests.conftest import fresh_settings
from tests.support.command import Done, lk, write_config
from tests.support.oracle.route_oracle import Copies, split
from tests.support.oracle.view_oracle import Record
from tests.support.records import committed_records
from tests.support.records.kafka_log import Ends, Log, Sent, send
from tests.support.waiting import eventually, tails

SOURCES = ("access_log", "service_log")
OUTPUTS = ("log_high", "log_low")
ROUTE = Name("log_split")


@dataclass
class Split:
    """An instance whose route the tests kill and pause, and its log."""

    settings: Settings
    config: Path
    catalog: Catalog
    log: Log
    files: Path
    sent: int = 0
    # The end offsets from which a definition applies, and its lowest error status.
    rules: list[tuple[Ends, int]] = field(default_factory=lambda: [({}, 500)])

    def send(self, count: int) -> None:
        """Sends the next ``count`` records of both sources, some invalid, some with headers."""
        numbers = range(self.sent, self.sent + count)
        send(self.settings, map(_request, numbers))
        samples = records(
            self.catalog.topic("service_log"), SampleSpec(3, 1_763_683_200_000, bad=0.05), count, self.sent
        )
        send(self.settings, (Sent("service_log", None, sample.value, (), n % 4) for n, sample in enumerate(samples)))
        self.sent += count
        self.log.read()

    def lk(self, *words: str, fault: str | None = None) -> Done:
        """Runs a verb in its own process."""
        return lk(self.config, *words, fault=fault)

    @property
    def owner(self) -> Name:
        """The run that owns the outputs."""
        owner = route_runs.read_history(self.settings, ROUTE).owner
        assert owner
        return owner

    @property
    def replay(self) -> Name:
        """The newest run that never owned the outputs."""
        history = route_runs.read_history(self.settings, ROUTE)
        return [run for run in history.runs if run not in {ownership.run for ownership in history.ownerships}][-1]

    def settle(self, run: Name | None = None) -> None:
        """Waits until a run has copied the whole log. The default is the owner."""
        chosen = run or self.owner

        def all_copied() -> None:
            history = route_runs.read_history(self.settings, ROUTE)
            assert background.alive(self.settings, chosen), "the run died"
            at = reached(self.settings, history, history.runs[chosen])
            ends = kafka_admin.end_offsets(self.settings, SOURCES)
            assert {where: position.offset for where, position in at.items()} == {(t, p): e for t, p, e in ends.ends}

        eventually(self.settings, 180, all_copied)

    def died(self, run: Name, point: str) -> None:
        """Waits until a run's process has ended. Fails unless the fault point killed it."""

        def gone() -> None:
            assert background.alive(self.settings, run) is None, f"{run} still runs, {point} was not reached"

        eventually(self.settings, 180, gone)
        assert self.take_proof(point).startswith("kill "), tails(self.settings)

    def take_proof(self, point: str) -> str:
        """Returns the proof of a fault and deletes it."""
        text = faults.proof(self.settings, point).read_text("utf-8")
        faults.proof(self.settings, point).unlink()
        return text

    def paused(self, point: str) -> int:
        """Waits until a process has stopped at a fault point. Returns its pid."""

        def stopped() -> int:
            assert faults.proof(self.settings, point).exists(), f"{point} was not reached"
            pid = int(faults.proof(self.settings, point).read_text("utf-8").split()[1])
            assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
            return pid

        pid = eventually(self.settings, 180, stopped)
        faults.proof(self.settings, point).unlink()
        return pid

    def worst(self, record: Record) -> int:
        """The lowest error status in the definition that the route had when it copied the record."""
        place = record.topic, record.partition
        return [status for ends, status in self.rules if ends.get(place, 0) <= record.offset][-1]

    def define(self, status: int) -> None:
        """Edits the route's definition, so that this is its lowest error status."""
        text = (VIEWS / "programs" / "log_split.py").read_text("utf-8")
        assert "status >= 500" in text
        (self.files / "log_split.py").write_text(text.replace("status >= 500", f"status >= {status}"), "utf-8")

    def check(self) -> None:
        """Fails unless a read_committed consumer gets every record once, in its output and in partition order."""
        self.check_copies(committed_records.copies(self.settings, OUTPUTS))

    def check_so_far(self) -> None:
        """Fails unless a read_committed consumer gets a prefix of the expected records in every partition."""
        expected, actual = (
            split(self.log.records, self.log.headers, self.worst),
            committed_records.copies(self.settings, OUTPUTS),
        )
        for output in OUTPUTS:
            for place, rows in actual[output].items():
                assert rows == expected[output][place][: len(rows)], f"{output} of {place}"

    def check_copies(self, actual: Copies) -> None:
        """Fails unless these copies are the expected copies of the whole log."""
        expected = split(self.log.records, self.log.headers, self.worst)
        for output in OUTPUTS:
            assert actual[output].keys() == expected[output].keys()
            for place, expected_rows in expected[output].items():
                actual_rows = actual[output][place]
                assert [offset for offset, _ in actual_rows] == [offset for offset, _ in expected_rows], (
                    f"{output} of {place}"
                )
                assert actual_rows == expected_rows, f"{output} of {place}"


def _request(number: int) -> Sent:
    status = 503 if number % 7 == 0 else 404 if number % 5 == 0 else 200
    line = f'10.0.0.{number % 5} - - [01/Nov/2025:00:00:{number % 60:02d} +0000] "GET / HTTP/1.1" {status} 7 "-" "-"'
    headers = (("trace", str(number).encode()), ("empty", None)) if number % 3 == 0 else ()
    key = str(number % 4).encode() if number % 2 else None
    return Sent("access_log", key, line[: 9 if number % 11 == 0 else 999].encode(), headers, number % 4)


@contextmanager
def opened(folder: Path, prepared: Callable[[Settings], Settings] = lambda settings: settings) -> Iterator[Split]:
    """A broker with records of both sources and a route that was never started. Stops at the end of the block.

    ``prepared`` gets the settings before anything starts, and returns those that the test uses.
    """
    files = folder / "views"
    files.mkdir()
    for name in ("service_log", "log_split"):
        shutil.copy(VIEWS / "programs" / f"{name}.py", files)
    settings = fresh_settings(folder / "data").model_copy(
        update={"views": (files,), "trino_host": LOOPBACK, "lease_seconds": 12.0}
    )
    names = ("kafka_port", "kafka_controller_port", "trino_port", "trino_host", "lease_seconds")
    values: dict[str, Any] = {name: getattr(settings, name) for name in names}
    config = write_config(folder / "lk.toml", values | {"data": str(settings.data), "views": [str(files)]})
    settings = prepared(settings)
    local_stack.start_servers(settings)
    (settings.data / MARKER).touch()
    try:
        instance = Split(settings, config, definition_files.load(settings), Log(settings, SOURCES), files)
        topic_admin.create_topics(settings, Catalog({Name(name): instance.catalog.topic(name) for name in SOURCES}, {}))
        instance.send(300)
        yield instance
    finally:
        local_stack.stop_servers(settings)
