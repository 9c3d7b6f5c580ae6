"""Instances of an age: Kafka holds the records, the tables hold the epochs, the builds and the publications."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from batch.build import build
from batch.claim import claim
from batch.gate import gate, require_passed
from batch.land import land
from core.catalog import Catalog
from core.errors import REPORT_BUG, Refused
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import overview, speed, stack
from flows.bench.age import bulk_epochs, checkpoint, past_batches
from flows.bench.age.bulk_epochs import BulkRun
from flows.bench.age.epoch_plan import STEP_MS, EpochPlan
from flows.measure import fresh_instance, load
from flows.measure.console import note
from flows.measure.live_system import LiveInstance
from flows.measure.load import LATE, LATE_BY_MS, OUT_OF_ORDER
from infra import clock
from infra.control import runs
from infra.control.manifest import last_epoch
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.lake import leases
from infra.lake.leases import Lease
from infra.local import local_stack
from infra.progress_bar import bar
from infra.settings import Settings
from serving.publish import publish
from speed.epoch import offset_log
from speed.tables import schemas

SEED = 28
_FOLDS = 400  # of the lowest level over the folded epochs; the levels above have their usual proportion
_RATE = 1_000 / STEP_MS  # trades a second: one for each epoch, and what cannot be decoded


@dataclass(frozen=True)
class Age:
    """What an instance has behind it.

    ``folded`` of the ``epochs`` are after the served build, and have partial rows. ``builds`` were deleted by
    `lk cleanup`.
    """

    epochs: int
    folded: int
    publications: int
    builds: int
    quarantined: int

    @staticmethod
    def of(epochs: int) -> Age:
        """Years, in the proportions of 7 million epochs."""
        return Age(epochs, epochs // 7, epochs // 700, epochs * 3 // 7_000, epochs * 5 // 7)

    @property
    def fold_epochs(self) -> int:
        """How many epochs the lowest level combines while the instance is made, so that it takes minutes."""
        return max(50, self.folded // _FOLDS // 50 * 50)


FRESH = Age(epochs=3_000, folded=1_500, publications=0, builds=0, quarantined=0)


@contextmanager
def aged_instance(base: Settings, folder: Path, age: Age, spark: SparkSession) -> Iterator[LiveInstance]:
    """An instance of this age whose speed run goes on, removed after the block; if the block fails, only stopped."""
    created = fresh_instance.create(base.model_copy(update={"retention_minutes": 1}), folder)
    try:
        live = LiveInstance(created.settings, definition_files.load(created.settings), created.config, _begun(created))
        _timed(f"{age.epochs + age.quarantined:,} records in Kafka", lambda: _send(live, age))
        with leases.hold(live.settings, f"run_{live.run}") as lease:
            _grow_old(live, age, spark, lease)
        speed.start(live.settings, live.catalog)
        _require_whole(live)
        yield live
    finally:
        local_stack.stop_servers(created.settings)
    fresh_instance.remove(folder)


def held_run(live: LiveInstance, spark: SparkSession, lease: Lease, settings: Settings) -> BulkRun:
    """The run, for this process to write to; ``settings`` may fold faster."""
    run = runs.read_run(live.settings, live.run)
    for path in schemas.paths(live.settings, live.catalog, run):
        leases.fence(lease, path)
    return BulkRun(spark, settings, live.catalog, run, lease)


def next_plan(live: LiveInstance, count: int) -> EpochPlan:
    """The next ``count`` epochs, which read the log to its end; the last one is now."""
    last = last_epoch(live.settings, live.run)
    assert last is not None, "the run has epochs"
    end = kafka_admin.end_offsets(live.settings, list(runs.read_run(live.settings, live.run).topics))
    return EpochPlan(last.number + 1, count, last.end, end, clock.now_ms())


def _begun(created: fresh_instance.FreshInstance) -> Name:
    """Starts the servers and a run, which reads the access log; then stops the run. It has a checkpoint then."""
    settings = created.settings
    catalog = definition_files.load(settings)
    stack.up(settings, catalog)
    load.send_access_log(settings, catalog)
    with bar("starting the speed layer"):
        speed.start(settings, catalog)
        run = runs.read_runs(settings)[-1].id
        load.wait_for_lag_zero(settings, run)
        load.wait_for(lambda: offset_log.last_entry(settings, run, "commits") >= 0, "Spark's note of an epoch")
        speed.stop(settings)
    return run


def _send(live: LiveInstance, age: Age) -> None:
    """First what cannot be decoded, then a trade for each epoch; event times follow the epochs' times."""
    topic = live.catalog.topic(load.TRADES)
    first_ms = clock.now_ms() - age.epochs * STEP_MS
    spec = SampleSpec(SEED, first_ms, _RATE, LATE, LATE_BY_MS, OUT_OF_ORDER)
    bad = replace(spec, bad=1.0, late=0.0, out_of_order=0.0)
    for samples in (records(topic, bad, age.quarantined), records(topic, spec, age.epochs)):
        load.send_trades(live.settings, live.catalog, samples)


def _grow_old(live: LiveInstance, age: Age, spark: SparkSession, lease: Lease) -> None:
    """Commits the epochs, with the history of batches and a served build before the folded ones."""
    fast = live.settings.model_copy(update={"fold_epochs": age.fold_epochs})
    bulk, plan = held_run(live, spark, lease, fast), next_plan(live, age.epochs)
    before, after = plan.divided(age.epochs - age.folded)
    _timed(f"{before.count:,} epochs before the build", lambda: bulk_epochs.commit(bulk, before, partials=False))
    if age.builds:
        written = (live.settings, live.catalog, live.run, before, age.builds, age.publications)
        _timed(f"{age.builds:,} builds, {age.publications:,} publications", lambda: past_batches.write(*written))
    _timed("a build, served", lambda: publish_build(live.settings, live.catalog, spark))
    _timed(f"{after.count:,} epochs, folded", lambda: bulk_epochs.commit(bulk, after, partials=True))
    checkpoint.move_to_end(live.settings, live.run, after)


def publish_build(settings: Settings, catalog: Catalog, spark: SparkSession) -> None:
    """Builds the log up to the last epoch and serves the build."""
    publish(settings, catalog, gated_build(settings, catalog, spark), why="lk bench age")


def gated_build(settings: Settings, catalog: Catalog, spark: SparkSession, *, incremental: bool = False) -> Name:
    """Claims, lands, builds and gates with a session that runs already; returns the build."""
    claimed = claim(settings, catalog)
    land(spark, settings, catalog, claimed.cut)
    build(spark, settings, catalog, claimed, incremental=incremental)
    require_passed(gate(spark, settings, catalog, claimed))
    return claimed.build


def _require_whole(live: LiveInstance) -> None:
    """Raises Refused unless all records and rows add up: then the figures would be those of another instance."""
    state = overview.status(live.settings)
    wrong = [str(partition) for partition in state.partitions if not partition.ok]
    wrong += [str(view) for view in state.rows if not view.ok]
    if wrong or not state.rows:
        reasons = "; ".join([*wrong, *state.unhealthy])
        raise Refused(f"the instance does not add up: {reasons}", where=str(live.config), fix=REPORT_BUG)


def _timed(what: str, work: Callable[[], object]) -> None:
    began = time.monotonic()
    with bar(what):
        work()
    note(f"{what}: {time.monotonic() - began:.0f} s")
