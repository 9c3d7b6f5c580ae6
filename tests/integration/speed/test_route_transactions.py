"""A route over a topic with transactions copies each committed record once, and passes over all other offsets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from core.positions import LogPartition
from core.route import Output, Route
from core.topic import Lines, Topic
from flows import routes
from flows.routes import RouteState
from infra.control import route_runs
from infra.kafka import kafka_admin, topic_admin
from infra.kafka.client_config import librdkafka
from infra.kafka.route_positions import Position
from infra.settings import Settings
from speed.process import background
from speed.routes import copy_task, planner, route_job
from tests.support.records import committed_records

_NUMBERS = count(1)  # each test has a topic of its own


@dataclass
class Ledger:
    """A topic of one partition whose producer writes transactions, and a route that copies it."""

    settings: Settings
    catalog: Catalog
    producer: Producer
    topic: str

    def write(self, values: str, *, commits: bool) -> None:
        """One transaction with a record for each character."""
        self.begin(values)
        self.end(commits=commits)

    def begin(self, values: str) -> None:
        self.producer.begin_transaction()
        for value in values:
            self.producer.produce(self.topic, value, partition=0)
        assert self.producer.flush(30) == 0

    def end(self, *, commits: bool) -> None:
        (self.producer.commit_transaction if commits else self.producer.abort_transaction)(30)

    def epochs(self, spark: SparkSession, most: int) -> int:
        """Runs epochs until one plans nothing; returns how many copied something, at most ``most``."""
        run = self.state.run
        for number in range(most):
            if not route_job.epoch(spark, self.settings, self.catalog, route_runs.read_run(self.settings, run)):
                return number
        return most

    @property
    def state(self) -> RouteState:
        (state,) = routes.status(self.settings, self.catalog)
        return state

    @property
    def position(self) -> Position:
        run = route_runs.read_run(self.settings, self.state.run)
        history = route_runs.read_history(self.settings, run.route)
        return planner.reached(self.settings, history, run)[LogPartition(self.topic, 0)]

    @property
    def end_offset(self) -> int:
        return kafka_admin.end_offsets(self.settings, [self.topic]).end(self.topic, 0)

    @property
    def copies(self) -> list[tuple[int, bytes | None]]:
        output = f"{self.topic}_copies"
        copies = committed_records.copies(self.settings, [output])[output]
        return [(offset, copy.value) for offset, copy in copies.get((self.topic, 0), [])]


@pytest.fixture
def ledger(stack: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ledger:
    """A route that the test drives in this process, in a lake of its own."""
    settings = stack.model_copy(update={"lake": str(tmp_path / "lake")})
    topic = f"ledger{next(_NUMBERS)}"
    route = Route(f"{topic}_split", (topic,), (Output(f"{topic}_copies"),))
    lines = Topic(topic, Lines("(.*)"), (), partitions=1)
    catalog = Catalog({Name(topic): lines}, {}, routes={Name(route.name): route})
    topic_admin.create_topics(settings, catalog)
    producer = Producer({**librdkafka(settings), "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    monkeypatch.setattr(background, "start", lambda *_: False)
    routes.start(settings, catalog, Name(route.name))
    return Ledger(settings, catalog, producer, topic)


def test_a_route_passes_over_aborted_records_and_the_marks_of_transactions(spark: SparkSession, ledger: Ledger) -> None:
    ledger.write("ab", commits=True)
    assert ledger.epochs(spark, 2) == 1
    ledger.write("cde", commits=False)
    assert ledger.epochs(spark, 2) == 1
    assert ledger.position.offset == ledger.end_offset == 7
    assert ledger.copies == [(0, b"a"), (1, b"b")]
    assert ledger.epochs(spark, 1) == 0
    ledger.write("f", commits=True)
    assert ledger.epochs(spark, 2) == 1
    assert ledger.copies == [(0, b"a"), (1, b"b"), (7, b"f")]
    state = ledger.state
    assert (state.copied, state.gaps, state.behind, state.exact) == ({f"{ledger.topic}_copies": 3}, 6, 0, True)
    assert state.line.endswith(f"3 to {ledger.topic}_copies · 6 offsets without a record · 0 records behind")


def test_more_aborted_records_than_a_transaction_copies_hide_no_later_record(
    spark: SparkSession, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_MAX_RECORDS", 3)
    ledger.write("abcdefgh", commits=False)
    ledger.write("ij", commits=True)
    assert ledger.epochs(spark, 9) == 4
    assert ledger.copies == [(9, b"i"), (10, b"j")]
    assert (ledger.position.offset, ledger.position.gaps, ledger.state.exact) == (12, 10, True)


def test_a_route_waits_for_the_end_of_an_open_transaction(spark: SparkSession, ledger: Ledger) -> None:
    """Nobody can say yet which of its records are committed; later records wait, too."""
    ledger.write("a", commits=True)
    ledger.begin("bc")
    assert ledger.epochs(spark, 2) == 1
    assert (ledger.copies, ledger.position.offset, ledger.state.behind) == ([(0, b"a")], 2, 2)
    ledger.end(commits=True)
    assert ledger.epochs(spark, 2) == 1
    assert ledger.copies == [(0, b"a"), (2, b"b"), (3, b"c")]
    assert (ledger.position.offset, ledger.position.gaps, ledger.state.exact) == (5, 2, True)


def test_a_span_without_records_is_passed_over_by_one_process(ledger: Ledger) -> None:
    """The position has moved since the plan, so the second one commits nothing."""
    ledger.write("ab", commits=False)
    run = route_runs.read_run(ledger.settings, ledger.state.run)
    planned = planner.tasks(ledger.settings, ledger.catalog, run)
    ((_, task),) = planned.items()
    assert [copy_task.copy(task, ()), copy_task.copy(task, ())] == ["copied", "moved"]
    assert (ledger.position.offset, ledger.position.gaps) == (3, 3)
