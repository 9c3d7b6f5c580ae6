"""Query time by number of epochs: two runs read the same log, one in few and one in many epochs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from flows.measure import load
from flows.measure.figures import Figure
from flows.measure.freshness import percentile
from flows.measure.live_system import fixed_range, query_seconds
from infra.control.manifest import read_epochs
from infra.settings import Settings
from serving.promote import serve_run
from speed.process import lifecycle

TRADES = 20_000
FEW, MANY = 50, 2_000
_EACH = 60


@dataclass(frozen=True)
class EpochsLog:
    """An instance without a run, with TRADES trades in Kafka."""

    settings: Settings
    catalog: Catalog
    config: Path


def fill(settings: Settings, catalog: Catalog, config: Path) -> EpochsLog:
    """Sends the trades that both runs read."""
    load.send_count(settings, catalog, 1, TRADES)
    return EpochsLog(settings, catalog, config)


def epochs(log: EpochsLog, repeat: int) -> list[Figure]:
    """The p50 of one merged query that reads few epochs or many."""
    few, few_epochs = _medians(log, FEW, repeat)
    many, many_epochs = _medians(log, MANY, repeat)
    ratio = tuple(b / a for a, b in zip(few, many, strict=True))
    how = (
        f"{TRADES:,} trades; the speed job reads them with a small max_offsets_per_trigger, in {few_epochs:,} or in "
        f"{many_epochs:,} epochs, with its usual maintenance; then the same query of one ticker's windows, "
        f"{_EACH} times per repetition; nothing else runs"
    )
    what = f"p50 of a query with the same data in {few_epochs:,} and in {many_epochs:,} epochs"
    return [
        Figure("epochs", f"{what}: ratio", "×", ratio, most=1.3, how=how),
        Figure("epochs few", f"p50 in {few_epochs:,} epochs", "s", few),
        Figure("epochs many", f"p50 in {many_epochs:,} epochs", "s", many),
    ]


def _medians(log: EpochsLog, count: int, repeat: int) -> tuple[tuple[float, ...], int]:
    """Reads the log in about ``count`` epochs; returns the median query times and the number of epochs."""
    changes = {"max_offsets_per_trigger": TRADES // count, "trigger": "0 milliseconds"}
    settings = log.settings.model_copy(update=changes)
    run = lifecycle.declare(settings, log.catalog, note=f"bench: {count} epochs").id
    lifecycle.start(settings, run)
    load.wait_for_lag_zero(settings, run, 1_800)
    serve_run(settings, log.catalog, run, "bench")
    lifecycle.stop(settings, run)
    sql = fixed_range(settings)
    query_seconds(settings, sql)
    medians = []
    for _ in range(repeat):
        medians.append(percentile(sorted(query_seconds(settings, sql) for _ in range(_EACH)), 50))
    return tuple(medians), len(read_epochs(settings, run))
