"""`lk bench age`: what an aged instance needs for each step, beside a fresh one on the same machine, in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from batch.claim import claim
from core.errors import Refused
from flows import speed
from flows.bench.age import bulk_epochs
from flows.bench.age.aged_instance import gated_build, held_run, next_plan
from flows.bench.age.beside import AgedPair, in_turn, pairs
from flows.bench.age.verb_cost import VerbCost, verb_cost
from flows.measure import load
from flows.measure.demo_queries import BY_WINDOW
from flows.measure.figures import Figure
from flows.measure.live_system import SEEDS, LiveInstance, fixed_range, query_seconds
from infra.control import runs
from infra.control.manifest import last_epoch, read_epochs
from infra.lake import compaction, delta, leases
from infra.lake.leases import Lease
from infra.local import local_processes
from serving.cleanup import clean_up
from speed.process import background
from speed.tables import schemas
from speed.tables.fold import Folding, fold
from speed.tables.fold_boundaries import FoldBoundaries

STATUS_SECONDS, STATUS_MIB, PUBLISH_SECONDS, ON_DISK = 2.0, 300.0, 5.0, 3.0
RATE = 100.0  # trades a second: some small epochs a second
WARM, _FLOW = 60.0, 15.0  # seconds of this load before the first figure, and for each measurement of epochs
_QUERIES, _CLAIMS, _FOLDS = 20, 3, 4  # of each repetition, which gives their median
_FEW = 20  # trades: one epoch


def age(pair: AgedPair, repeat: int) -> list[Figure]:
    """Every step of both instances; stops their speed processes."""
    for live in pair.both:
        _flow(live, WARM)
    figures = [*_steps(pair, repeat), *_verbs(pair, repeat), *_processes(pair)]
    for live in pair.both:
        speed.stop(live.settings)
    return [*figures, *_files(pair), *_folds(pair, repeat)]


def _steps(pair: AgedPair, repeat: int) -> list[Figure]:
    """An epoch, a merged query and a claim."""
    steps = (
        (
            "epoch",
            "an epoch, from its plan to its commit",
            _epoch_seconds,
            f"median of {_FLOW:.0f} s of {RATE:.0f} trades a second",
        ),
        (
            "query",
            "merged query over a fixed key range",
            _query_seconds,
            f"median of {_QUERIES} queries of trade_stats",
        ),
        ("claim", "claim of a cut, without the start of Python", _claim_seconds, f"median of {_CLAIMS} claims"),
    )
    measured = []
    for name, what, measure, how in steps:
        measured += pairs(name, what, "s", in_turn(pair, repeat, measure), float, f"{how}, in each repetition").ratio()
    return measured


def _flow(live: LiveInstance, seconds: float) -> None:
    load.send_for(live.settings, live.catalog, next(SEEDS), seconds, RATE, lambda _number, _due: None)
    load.wait_for_lag_zero(live.settings, live.run)


def _epoch_seconds(live: LiveInstance) -> float:
    before = last_epoch(live.settings, live.run)
    _flow(live, _FLOW)
    epochs = read_epochs(live.settings, live.run, first=before.number + 1 if before else None)
    return statistics.median(epoch.committed_at.timestamp() - epoch.batch_time_ms / 1_000 for epoch in epochs)


def _query_seconds(live: LiveInstance) -> float:
    sql = fixed_range(live.settings)
    return statistics.median(query_seconds(live.settings, sql) for _ in range(_QUERIES))


def _claim_seconds(live: LiveInstance) -> float:
    """Each claim is at the end of a new epoch."""

    def once() -> float:
        _one_epoch(live)
        return _seconds(lambda: claim(live.settings, live.catalog))

    return statistics.median(once() for _ in range(_CLAIMS))


def _one_epoch(live: LiveInstance) -> None:
    load.send_count(live.settings, live.catalog, next(SEEDS), _FEW)
    load.wait_for_lag_zero(live.settings, live.run)


def _verbs(pair: AgedPair, repeat: int) -> list[Figure]:
    """Verbs as processes: `lk status`, `lk quarantine list`, and `lk publish` of a new build each time."""
    status = in_turn(pair, repeat, lambda live: verb_cost(live, "status", allowed=(0, 1)))  # bad records are unhealthy
    listed = in_turn(pair, repeat, lambda live: verb_cost(live, "quarantine", "list", "--limit", "20"))
    published = in_turn(pair, repeat, lambda live: _publish(live, pair))
    rss = "most memory of the same (RSS)"
    return [
        *pairs("status", "`lk status`", "s", status, _verb_seconds, "with the start of Python").bounded(STATUS_SECONDS),
        *pairs("status memory", rss, "MiB", status, _verb_memory).bounded(STATUS_MIB),
        *pairs("publish", "`lk publish`", "s", published, _verb_seconds, "the same").bounded(PUBLISH_SECONDS),
        *pairs("publish memory", rss, "MiB", published, _verb_memory).bounded(),
        *pairs("quarantine", "`lk quarantine list --limit 20`", "s", listed, _verb_seconds).bounded(),
        *pairs("quarantine memory", rss, "MiB", listed, _verb_memory).bounded(),
    ]


def _publish(live: LiveInstance, pair: AgedPair) -> VerbCost:
    _one_epoch(live)
    name = gated_build(live.settings, live.catalog, pair.spark, incremental=True)
    return verb_cost(live, "publish", "--build", name)


def _verb_seconds(cost: VerbCost) -> float:
    return cost.seconds


def _verb_memory(cost: VerbCost) -> float:
    return cost.mebibytes


def _processes(pair: AgedPair) -> list[Figure]:
    """The speed processes; both have run for about as long, under the same load."""
    memory, opened = in_turn(pair, 1, _memory), in_turn(pair, 1, _opened)
    how = "once, after all that comes before"
    return [
        *pairs("memory", "memory of the speed process (PSS)", "MiB", memory, float, how).ratio(),
        *pairs("open files", "open files of the speed process", "", opened, float, how).ratio(),
    ]


def _memory(live: LiveInstance) -> float:
    return local_processes.memory_bytes(_pid(live)) / 2**20


def _opened(live: LiveInstance) -> float:
    return float(sum(process.num_fds() for process in local_processes.process_tree(_pid(live))))


def _pid(live: LiveInstance) -> int:
    process = background.alive(live.settings, live.run)
    if process is None:
        raise Refused("the speed process is not running", where=f"run {live.run}", fix="read its log")
    return process.pid


def _files(pair: AgedPair) -> list[Figure]:
    """After the retention of what was replaced while the runs were working, a vacuum and `lk cleanup`."""
    stopped, seconds = time.monotonic(), 60.0 * pair.aged.settings.retention_minutes
    load.wait_for(lambda: time.monotonic() > stopped + seconds, "the retention", seconds + 60, every=1.0)
    how = f"all tables of the lake; after {seconds:.0f} s of retention, a vacuum and `lk cleanup`"
    what = "data files on disk for each live one"
    return pairs("files", what, "×", in_turn(pair, 1, _files_on_disk), float, how).bounded(ON_DISK)


def _files_on_disk(live: LiveInstance) -> float:
    for path in schemas.paths(live.settings, live.catalog, runs.read_run(live.settings, live.run)):
        compaction.vacuum(path)
    clean_up(live.settings, live.catalog)
    tables = [log.parent for log in Path(live.settings.lake_root).rglob("_delta_log")]
    on_disk = [file for table in tables for file in table.rglob("*.parquet") if "_delta_log" not in file.parts]
    return len(on_disk) / sum(len(delta.table(str(table)).file_uris()) for table in tables)


def _folds(pair: AgedPair, repeat: int) -> list[Figure]:
    """Folds of the lowest level, with the boundaries that maintenance reads for each."""
    with (
        leases.hold(pair.fresh.settings, f"run_{pair.fresh.run}") as of_fresh,
        leases.hold(pair.aged.settings, f"run_{pair.aged.run}") as of_aged,
    ):
        lease_of = {pair.fresh.config: of_fresh, pair.aged.config: of_aged}
        ready = {live.config: _ready_to_fold(live, pair, lease_of[live.config], repeat) for live in pair.both}
        turns = in_turn(
            pair, repeat, lambda live: statistics.median(_seconds(ready[live.config]) for _ in range(_FOLDS))
        )
    how = f"median of {_FOLDS} folds of {pair.aged.settings.fold_epochs} epochs of {BY_WINDOW}, in each repetition"
    return pairs("fold", "a fold of the lowest level", "s", turns, float, how).ratio()


def _ready_to_fold(live: LiveInstance, pair: AgedPair, lease: Lease, repeat: int) -> Callable[[], object]:
    """A function that folds the next range; what is due already is folded before, and enough epochs are committed."""
    settings, bulk = live.settings, held_run(live, pair.spark, lease, live.settings)
    count = settings.fold_epochs * (_FOLDS * repeat + 2)
    load.send_count(settings, live.catalog, next(SEEDS), 2 * count)
    plan = next_plan(live, count)
    bulk_epochs.append_partials(bulk, plan)
    folding = Folding(settings, live.run, live.catalog.view(BY_WINDOW), lease)
    boundaries = FoldBoundaries(settings, live.run)

    def once() -> bool:
        return fold(pair.spark, folding, plan.last + settings.fold_behind, boundaries.ends(BY_WINDOW))

    while folding.last_folded(1) < plan.first and once():
        pass
    return once


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
