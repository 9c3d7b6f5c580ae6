"""Does a query grow slower with the number of epochs? The same log, read by two runs in few and in many epochs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from flows.measure import load
from flows.measure.figures import Figure
from flows.measure.freshness import percentile
from flows.measure.live_system import fixed_range, timed
from infra.control.epochs import read_epochs
from infra.settings import Settings
from serving.promote import serve_run
from speed.process import lifecycle

TRADES = 20_000
FEW, MANY = 50, 2_000
_EACH = 60


@dataclass(frozen=True)
class EpochsLog:
    """An instance without a run, with TRADES trades in its log."""

    settings: Settings
    catalog: Catalog
    config: Path


def fill(settings: Settings, catalog: Catalog, config: Path) -> EpochsLog:
    """Sends the trades that both runs will read."""
    load.load(settings, catalog, 1, TRADES)
    return EpochsLog(settings, catalog, config)


def epochs(log: EpochsLog, repeat: int) -> list[Figure]:
    """The p50 of one merged query, served from few epochs and from many."""
    few, few_epochs = _served_in(log, FEW, repeat)
    many, many_epochs = _served_in(log, MANY, repeat)
    ratio = tuple(b / a for a, b in zip(few, many, strict=True))
    how = (
        f"{TRADES:,} trades are sent before; the speed job reads them with max_offsets_per_trigger set so low that it "
        f"makes {few_epochs:,} and {many_epochs:,} epochs, with its usual maintenance; then the same query of one "
        f"ticker's windows, {_EACH} answers per repetition; nothing else runs"
    )
    what = f"p50 of a query with the same data in {few_epochs:,} and in {many_epochs:,} epochs"
    return [
        Figure("epochs", f"{what}: ratio", "×", ratio, most=1.3, how=how),
        Figure("epochs few", f"p50 in {few_epochs:,} epochs", "s", few),
        Figure("epochs many", f"p50 in {many_epochs:,} epochs", "s", many),
    ]


def _served_in(log: EpochsLog, wanted: int, repeat: int) -> tuple[tuple[float, ...], int]:
    """Medians, and how many epochs there were."""
    changed = {"max_offsets_per_trigger": TRADES // wanted, "trigger": "0 milliseconds"}
    settings = log.settings.model_copy(update=changed)
    run = lifecycle.declare(settings, log.catalog, note=f"bench: {wanted} epochs").id
    lifecycle.start(settings, run)
    load.caught_up(settings, run, 1_800)
    serve_run(settings, log.catalog, run, "bench")
    lifecycle.stop(settings, run)
    sql = fixed_range(settings)
    timed(settings, sql)
    found = []
    for _ in range(repeat):
        found.append(percentile(sorted(timed(settings, sql) for _ in range(_EACH)), 50))
    return tuple(found), len(read_epochs(settings, run))
