"""Figures of volume: the raw log, landing it, building every view from the archive. No speed run is needed."""

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

COUNT = 28_000_000  # some minutes of work: Java is slow in the first ten seconds of each verb
_PART = 500_000
_MORE = 1_000  # a build of what was built already would do nothing


@dataclass(frozen=True)
class BulkInstance:
    """An instance without a speed run, with COUNT trades in its log; ``sent`` is trades a second per part."""

    settings: Settings
    catalog: Catalog
    config: Path
    sent: tuple[float, ...]


def fill(settings: Settings, catalog: Catalog, config: Path) -> BulkInstance:
    """Sends the access log, and COUNT trades in parts."""
    load.access_log(settings, catalog)
    taken = [load.load(settings, catalog, seed, _PART) for seed in range(COUNT // _PART)]
    return BulkInstance(settings, catalog, config, tuple(_PART / seconds for seconds in taken))


def producing(bulk: BulkInstance, _repeat: int) -> list[Figure]:
    """What the producer and the generator reach together."""
    how = f"{len(bulk.sent)} parts of {_PART:,} trades, idempotent, acks=all, one process"
    return [Figure("produce", "trades made up, sent and acknowledged", "records/s", bulk.sent, how=how)]


def consuming(bulk: BulkInstance, repeat: int) -> list[Figure]:
    """The raw consumer: what the log itself gives to one Python process."""
    rates = tuple(raw_consumer.rate(bulk.settings, TRADES) for _ in range(repeat))
    how = f"librdkafka in one Python process reads {COUNT:,} trades and does nothing with them: the reference"
    return [Figure("consume", "trades read from Kafka, not decoded", "records/s", rates, how=how)]


def layers(bulk: BulkInstance, repeat: int) -> list[Figure]:
    """`lk land` with new records each time, then `lk build` and `lk gate` over all of them, again and again."""
    landed, built = [], []
    for turn in range(repeat):
        if turn:
            load.load(bulk.settings, bulk.catalog, 100 + turn, COUNT)
        landed.append(_landed(bulk))
    for turn in range(repeat):
        load.load(bulk.settings, bulk.catalog, 200 + turn, _MORE)
        _landed(bulk)
        built.append(_built(bulk))
    how_land = f"{COUNT:,} new trades each time; Kafka to archive, decoded, with its ledger; Spark's start not counted"
    how_build = f"every view alone, full build from the archive of {repeat * COUNT:,} trades, with its gate"
    figures = [Figure("land", "records landed", "records/s", tuple(landed), least=200_000, how=how_land)]
    for number, view in enumerate(built[0]):
        rates = tuple(found[view] for found in built)
        how = how_build if number == 0 else ""
        figures.append(Figure(f"build {view}", "events built", "events/s", rates, least=1_500_000, how=how))
    return figures


def _landed(bulk: BulkInstance) -> float:
    """Records landed a second, as `lk land` itself reports it."""
    run_verb.run(bulk.settings, bulk.config, "claim")
    rows = run_verb.run(bulk.settings, bulk.config, "land")
    mine = [row for row in rows if row["topic"] == TRADES]
    return float(sum(row["records"] for row in mine) / sum(row["seconds"] for row in mine))


def _built(bulk: BulkInstance) -> Mapping[str, float]:
    """Events a second per view of trades."""
    run_verb.run(bulk.settings, bulk.config, "build")
    run_verb.run(bulk.settings, bulk.config, "gate")
    newest = read_claims(bulk.settings)[-1]
    events = newest.cut.only([TRADES]).size
    rows = [row for row in read_builds(bulk.settings) if row.build == newest.build]
    return {row.view: events / row.seconds for row in rows if TRADES in bulk.catalog.views[row.view].sources}
