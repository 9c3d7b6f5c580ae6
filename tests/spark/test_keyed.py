"""Keyed views: the rows of a run equal the oracle after each epoch, for any split of the log into epochs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from core.catalog import Catalog
from core.compute.combine import comparable, merge_partials
from core.compute.keyed_events import pack
from core.compute.keyed_rows import result_rows, source_rows
from core.cut import Cut
from core.identifiers import Name
from core.view import Keyed
from infra.control.runs import Run
from infra.definitions.definition_files import load
from infra.lake import delta, idempotent_writes, leases, table_paths
from infra.project_files import VIEWS
from infra.settings import Settings
from speed.epoch import prepared_query
from speed.epoch.keyed_units import Units, plan_units
from speed.job import CONF
from speed.tables import clustering, hash_tree, schemas
from tests.conftest import fresh_settings
from tests.support.faults.largest_result import largest_result
from tests.support.oracle import program_oracle
from tests.support.records.decoder import Decoder
from tests.support.records.frames import at, dicts
from tests.support.records.program_records import START, Event, logs, record
from tests.support.suite.tiers import slow

CATALOG: Catalog = load(Settings(views=(VIEWS / "programs",)))
KEYED = sorted(name for name, view in CATALOG.views.items() if isinstance(view, Keyed))
SPLIT = ("order_payments", "purchases_once", "sessions")  # a join, deduplication, sessions

few = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def job(spark: SparkSession) -> SparkSession:
    """A session with the settings of the speed job, which runs cached plans repeatedly."""
    session = spark.newSession()
    for name in ("spark.sql.adaptive.enabled", "spark.sql.autoBroadcastJoinThreshold"):
        session.conf.set(name, CONF[name])
    return session


def view_of(name: str) -> Keyed:
    view = CATALOG.view(name)
    assert isinstance(view, Keyed)
    return view


def decoded(decoder: Decoder, topic: str, events: Sequence[Event]) -> DataFrame:
    return decoder.rows(CATALOG.topic(topic), map(record, events_of(topic, events)))


def events_of(topic: str, events: Sequence[Event]) -> list[Event]:
    """The events of one topic."""
    return [event for event in events if event["topic"] == topic]


def places(events: Sequence[Event]) -> list[tuple[int, int]]:
    """Partition and offset of each event."""
    return [(event["partition"], event["offset"]) for event in events]


def rows_of(view: Keyed, frame: DataFrame) -> list[program_oracle.Row]:
    """The rows of a keyed view, each as many times as ``_rows`` says."""
    names = [column.name for column in view.identifying_columns]
    rows = dicts(comparable(view, frame))
    return [tuple(row[name] for name in names) for row in rows for _ in range(row["_rows"])]


def same(actual: list[program_oracle.Row], expected: list[program_oracle.Row]) -> None:
    assert sorted(actual, key=repr) == sorted(expected, key=repr)


def test_every_keyed_view_has_an_oracle() -> None:
    assert sorted(program_oracle.KEYED) == KEYED


@pytest.mark.parametrize("name", KEYED)
@few
@given(data=st.data())
def test_a_keyed_view_is_what_the_oracle_says(decoder: Decoder, name: str, data: st.DataObject) -> None:
    view = view_of(name)
    log = data.draw(logs(*view.sources))
    rows = {s: source_rows(view, CATALOG.topic(s), decoded(decoder, s, log)) for s in view.sources}
    same(rows_of(view, result_rows(view, rows)), program_oracle.rows(name, log))


class KeyedRun:
    """A run of one keyed view. The test writes its epochs."""

    def __init__(self, spark: SparkSession, decoder: Decoder, folder: Path, view: Keyed, log: Sequence[Event]) -> None:
        self.spark, self.view, self.name = spark, view, Name(view.name)
        self.decoded = {source: decoded(decoder, source, log) for source in view.sources}
        self.settings = fresh_settings(folder)
        table_paths.open_lake(self.settings)
        self.run = Run(Name("r000001"), {self.name: CATALOG.digest(self.name)}, {}, {}, Cut())
        delta.create(table_paths.events(self.settings, self.run.id, self.name), schemas.events_schema())
        delta.create(table_paths.speed(self.settings, self.run.id, self.name), schemas.partial_schema(view))
        self.units: Units = plan_units(spark, self.settings, CATALOG, self.run)

    def keep(self, number: int, events: Sequence[Event]) -> pa.Table:
        """Appends an epoch's events to those that the run keeps, and returns them packed."""
        new = pa.concat_tables(
            pack(self.view, CATALOG.topic(s), at(self.decoded[s], places(events_of(s, events)))).toArrow()
            for s in self.view.sources
        )
        if new.num_rows:
            events_path = table_paths.events(self.settings, self.run.id, self.name)
            idempotent_writes.append_once(
                events_path, schemas.tagged(new, schemas.events_schema(), epoch=number), "events", number
            )
            if self.view.reach is None:
                self.cluster(events_path)
        return new

    def epoch(self, number: int, events: Sequence[Event], *, small: bool) -> None:
        new = self.keep(number, events)
        if not new.num_rows:
            return
        results = self.units.results(self.name, number, new if small else None)
        assert isinstance(results, pa.Table) == small
        rows = results if isinstance(results, pa.Table) else results.toArrow()
        tagged = schemas.tagged(rows, schemas.partial_schema(self.view), first_epoch=number, last_epoch=number)
        idempotent_writes.append_once(table_paths.speed(self.settings, self.run.id, self.name), tagged, "rows", number)

    def cluster(self, path: str) -> None:
        """Clusters the kept events, as maintenance does after many epochs."""
        with pytest.MonkeyPatch.context() as patch, leases.hold(self.settings, f"run_{self.run.id}") as lease:
            patch.setattr(hash_tree, "MOST_FILES", 1)
            patch.setattr(hash_tree, "FULL", 2_000)
            while clustering.cluster(path, lease):
                pass

    def rows(self) -> list[program_oracle.Row]:
        parts = self.spark.createDataFrame(delta.read(table_paths.speed(self.settings, self.run.id, self.name)))
        return rows_of(self.view, merge_partials(self.view, parts))


@pytest.mark.parametrize("name", [*SPLIT, *slow(*(name for name in KEYED if name not in SPLIT))])
@settings(few, max_examples=2)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_any_split_into_epochs_gives_the_same(
    job: SparkSession,
    decoder: Decoder,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    data: st.DataObject,
    seed: int,
) -> None:
    """Small and big epochs in any order. After each, the rows equal the oracle over the log so far."""
    view, rng = view_of(name), random.Random(seed)
    log = data.draw(logs(*view.sources))
    ends = sorted(rng.sample(range(1, len(log)), 2))
    run = KeyedRun(job, decoder, tmp_path_factory.mktemp("units"), view, log)
    for number, (start, end) in enumerate(zip([0, *ends], [*ends, len(log)], strict=True)):
        run.epoch(number, log[start:end], small=rng.random() < 0.7)
        same(run.rows(), program_oracle.rows(name, log[:end]))


@contextmanager
def patched(module: ModuleType, name: str, value: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, value)
        yield


def test_rows_that_are_too_large_for_the_driver_stay_in_spark(
    job: SparkSession, decoder: Decoder, tmp_path: Path
) -> None:
    """A hundred orders and a hundred payments of one key are few events, and give 10,000 rows."""
    order = {"topic": "orders", "order_id": "A", "amount": Decimal(1), "country": "NO"}
    payment = {"topic": "payments", "order_id": "A", "payment_id": "p", "paid": Decimal(1)}
    log = [{**e, "at": START, "partition": 0, "offset": n} for e in (order, payment) for n in range(100)]
    run = KeyedRun(job, decoder, tmp_path, view_of("order_payments"), log)
    new = run.keep(0, log)
    with largest_result(job, "64k"), pytest.raises(Py4JError):
        run.units._run_prepared(run.name, run.view, 0, new.append_column("epoch", pa.array([0] * 200)))
    of_spark = largest_result(job, "64k")  # of what a job returns
    ours = patched(prepared_query, "MAX_RESULT_BYTES", 64_000)  # before a task holds it in memory
    for limit in (of_spark, ours):
        with limit:
            results = run.units.results(run.name, 0, new)
        assert not isinstance(results, pa.Table)
        assert results.agg({"_rows": "sum"}).collect()[0][0] == 10_000
