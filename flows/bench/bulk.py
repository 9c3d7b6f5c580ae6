"""Figures of volume: producing, consuming, landing, and building every view from the archive, without a speed run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from flows.measure import load, raw_consumer, run_verb
from flows.measure.figures import Figure
from flows.measure.load import TRADES
from infra.control.builds import read_builds
from infra.control.claims import read_claims
from infra.settings import Settings

COUNT = 28_000_000  # minutes of work: the JVM is slow in the first ten seconds of each verb
_PART = 500_000
_MORE = 1_000  # without new records a build would do nothing


@dataclass(frozen=True)
class BulkInstance:
    """An instance without a speed run and COUNT trades in Kafka; ``sent`` is trades a second of each part."""

    settings: Settings
    catalog: Catalog
    config: Path
    sent: tuple[float, ...]


def fill(settings: Settings, catalog: Catalog, config: Path) -> BulkInstance:
    """Sends the access log, and COUNT trades in parts."""
    load.send_access_log(settings, catalog)
    seconds = [load.send_count(settings, catalog, seed, _PART) for seed in range(COUNT // _PART)]
    return BulkInstance(settings, catalog, config, tuple(_PART / part_seconds for part_seconds in seconds))


def producing(bulk: BulkInstance, _repeat: int) -> list[Figure]:
    """The rate of the generator and the producer together."""
    how = f"{len(bulk.sent)} parts of {_PART:,} trades, idempotent, acks=all, one process"
    return [Figure("produce", "trades generated, sent and acknowledged", "records/s", bulk.sent, how=how)]


def consuming(bulk: BulkInstance, repeat: int) -> list[Figure]:
    """The rate of the raw consumer: one Python process."""
    rates = tuple(raw_consumer.rate(bulk.settings, TRADES) for _ in range(repeat))
    how = f"librdkafka in one Python process reads {COUNT:,} trades and does nothing with them; the reference"
    return [Figure("consume", "trades read from Kafka, not decoded", "records/s", rates, how=how)]


def layers(bulk: BulkInstance, repeat: int) -> list[Figure]:
    """`lk land` with new records each time, then `lk build` and `lk gate` over all records, ``repeat`` times each."""
    landed, built = [], []
    for turn in range(repeat):
        if turn:
            load.send_count(bulk.settings, bulk.catalog, 100 + turn, COUNT)
        landed.append(_land_rate(bulk))
    for turn in range(repeat):
        load.send_count(bulk.settings, bulk.catalog, 200 + turn, _MORE)
        _land_rate(bulk)
        built.append(_build_rates(bulk))
    how_land = f"{COUNT:,} new trades each time; Kafka to archive, decoded and counted; without the start of Spark"
    how_build = f"each view alone, full build from the archive of {repeat * COUNT:,} trades, with its gate"
    figures = [Figure("land", "records landed", "records/s", tuple(landed), least=200_000, how=how_land)]
    for number, view in enumerate(built[0]):
        rates = tuple(by_view[view] for by_view in built)
        how = how_build if number == 0 else ""
        figures.append(Figure(f"build {view}", "events built", "events/s", rates, least=1_500_000, how=how))
    return figures


def _land_rate(bulk: BulkInstance) -> float:
    """Records landed a second, as `lk land` reports."""
    run_verb.run(bulk.settings, bulk.config, "claim")
    rows = run_verb.run(bulk.settings, bulk.config, "land")
    of_trades = [row for row in rows if row["topic"] == TRADES]
    return float(sum(row["records"] for row in of_trades) / sum(row["seconds"] for row in of_trades))


def _build_rates(bulk: BulkInstance) -> Mapping[str, float]:
    """Events a second per view of trades."""
    run_verb.run(bulk.settings, bulk.config, "build")
    run_verb.run(bulk.settings, bulk.config, "gate")
    claim = read_claims(bulk.settings)[-1]
    events = claim.cut.only([TRADES]).size
    rows = [row for row in read_builds(bulk.settings) if row.build == claim.build]
    return {row.view: events / row.seconds for row in rows if TRADES in bulk.catalog.views[row.view].sources}
