"""An instance that serves the programs: sends sample records and compares the views with the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from core.catalog import Catalog
from core.identifiers import Name, joined, quoted
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from core.view import View
from infra.control import run_roles
from infra.control.claims import read_claims
from infra.control.manifest import last_epoch
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.settings import Settings
from infra.trino import metastore
from tests.support.checks.assertions import ends, same
from tests.support.command import Done, here
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.records.kafka_log import Log
from tests.support.records.pieces import in_order
from tests.support.waiting import eventually

START = 1_763_683_200_000
SAMPLES = (
    "lines",
    "orders",
    "page_views",
    "payments",
    "preferences",
    "profiles",
    "purchases",
    "readings",
    "searches",
)
TOPICS = (*SAMPLES, "trades", "access_log")


@dataclass
class ProgramsStack:
    """An instance that serves the stream programs, and its log."""

    settings: Settings
    config: Path
    catalog: Catalog
    log: Log
    sent: int = 0

    def send(self, count: int) -> None:
        """Sends the next ``count`` records of every topic. Some are late, repeated, invalid or without a match."""
        for topic in map(self.catalog.topic, SAMPLES):
            spec = SampleSpec(7, START, 2.0, 0.1, 7_200_000, 0.1, duplicate=0.05, unmatched=0.1, bad=0.005)
            outgoing = (OutgoingRecord(r.key, r.value, r.at) for r in records(topic, spec, count, self.sent))
            produce(self.settings, topic, outgoing, draw=False).require_complete()
        spec, topic = SampleSpec(7, START, 2.0, 0.1, 7_200_000, 0.1), self.catalog.topic("trades")
        trades = (OutgoingRecord(sample.key, sample.value) for sample in records(topic, spec, count, self.sent))
        produce(self.settings, topic, trades, draw=False).require_complete()
        produce(
            self.settings, self.catalog.topic("access_log"), map(_request, self._numbers(count)), draw=False
        ).require_complete()
        self.sent += count
        self.log.read()

    def _numbers(self, count: int) -> range:
        return range(self.sent, self.sent + count)

    def here(self, *words: str) -> Done:
        return here(self.config, *words)

    @property
    def run(self) -> Name:
        """The id of the serving run."""
        run_id = run_roles.current_run(self.settings)
        assert run_id
        return run_id

    def settle(self) -> None:
        """Waits until the serving run has committed the whole log."""
        run = self.run

        def caught_up() -> None:
            last = last_epoch(self.settings, run)
            assert last
            assert last.end == kafka_admin.end_offsets(self.settings, TOPICS)

        eventually(self.settings, 180, caught_up)

    def rows(self, table: str, view: View) -> list[program_oracle.Row]:
        """The keys and measures, or keys and results, that Trino returns, sorted."""
        names = [column.name for column in view.stored_columns if not column.name.startswith("_")]
        columns = ", ".join(f'"{name}"' for name in names)
        return in_order(metastore.query(self.settings, f"SELECT {columns} FROM {table}").rows)

    def check(self) -> None:
        """Fails unless every program's view shows the oracle's rows of the whole log."""
        all_events = events(self.log.records)
        for name in map(Name, (*program_oracle.ROLLUPS, *program_oracle.KEYED)):
            view = self.catalog.view(name)
            expected_rows = shown(name, program_oracle.rows(name, all_events))
            same(f"serving.{name}", self.rows(quoted("lake", "serving", name), view), in_order(expected_rows))

    def below(self) -> list[program_oracle.Event]:
        """The events below the cut of the newest build."""
        return events(self.log.below(ends(read_claims(self.settings)[-1].cut)))

    def check_build(self) -> None:
        """Fails unless the newest build's tables hold the oracle's rows of the log below its cut."""
        claim, below = read_claims(self.settings)[-1], self.below()
        for name in map(Name, (*program_oracle.ROLLUPS, *program_oracle.KEYED)):
            table = quoted("lake", "batch", joined(name, claim.build))
            same(f"batch.{name}", self.rows(table, self.catalog.view(name)), in_order(program_oracle.rows(name, below)))


def shown(name: str, rows: list[program_oracle.Row]) -> list[program_oracle.Row]:
    """The served rows of stored rows: the ten most traded stocks per hour, users without a delete."""
    if name in ("profiles_now", "preferences_now"):
        return [row for row in rows if row[-1] is False]
    if name == "top_ten":
        hours: dict[Any, list[program_oracle.Row]] = {}
        for row in sorted(rows, key=lambda row: (-row[3], row[0])):
            hours.setdefault(row[1], []).append(row)
        return list(chain.from_iterable(inside[:10] for inside in hours.values()))
    return rows


def _request(number: int) -> OutgoingRecord:
    minute = (number * 37) % 1_440 + (1_440 if number % 10 == 0 else 0)
    at = f"{1 + minute // 1_440:02d}/Nov/2025:{minute // 60 % 24:02d}:{minute % 60:02d}:00 +0000"
    size = "-" if number % 5 == 0 else str(number)
    return OutgoingRecord(None, f'10.0.0.{number % 7} - - [{at}] "GET / HTTP/1.1" 200 {size} "-" "-"'.encode())
