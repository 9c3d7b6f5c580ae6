"""The demo's queries to Trino."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from core.catalog import Catalog
from core.compute import epoch_range
from core.cut import Cut
from core.errors import REPORT_BUG, Refused
from core.identifiers import Name, joined, quoted
from core.measures import Count
from core.record_counts import RecordCounts, account_for, of_topic
from core.view import Rollup, View
from flows.measure.expected import Table
from infra.control.manifest import Epoch, read_epochs
from infra.control.pins import Pin
from infra.control.publications import last_done
from infra.kafka import kafka_admin
from infra.settings import Settings
from infra.trino.metastore import query

BY_DAY, BY_WINDOW, BY_HOUR, BY_PATH = (
    Name(text) for text in ("trades_by_day", "trade_stats", "traffic_by_hour", "traffic_by_path")
)
_VIEW_OF = {Name("access_log"): BY_HOUR, Name("trades"): BY_DAY}
_SUMS = "ticker, sum(trades), sum(volume), min(price_low), max(price_high)"


@dataclass(frozen=True)
class Ticker:
    """One ticker over all days."""

    ticker: str
    trades: int
    volume: Decimal
    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class Hour:
    """One hour of the web server."""

    hour: datetime
    requests: int
    errors: int
    bytes: Decimal


@dataclass(frozen=True)
class TickerByLayer:
    """A ticker in the batch table, in the speed table, and in the served view that merges them."""

    batch: Ticker | None
    speed: Ticker | None
    merged: Ticker

    @property
    def adds_up(self) -> bool:
        """Whether the merged counts, sums and extremes are those of both layers."""
        parts = [part for part in (self.batch, self.speed) if part]
        return self.merged == Ticker(
            self.merged.ticker,
            sum(part.trades for part in parts),
            sum((part.volume for part in parts), Decimal(0)),
            min(part.low for part in parts),
            max(part.high for part in parts),
        )


@dataclass(frozen=True)
class TopicAccount:
    """One topic: its records in Kafka, and the records that each layer counted.

    ``log`` is the number of records in Kafka, ``cut`` the number up to the cut of the published build.
    """

    topic: str
    log: int
    speed_decoded: int
    speed_quarantined: int
    cut: int
    batch_decoded: int
    batch_quarantined: int

    @property
    def ok(self) -> bool:
        """Whether no record is missing or counted twice, in either layer."""
        speed = self.speed_decoded + self.speed_quarantined
        batch = self.batch_decoded + self.batch_quarantined
        return account_for(speed, self.log, gaps=False) and account_for(batch, self.cut, gaps=False)


def pin_of(settings: Settings, view: Name) -> Pin:
    """The pin that a view serves. Raises Refused if it is not served."""
    last = last_done(settings)
    pin = last.pins.get(view) if last else None
    if pin is None:
        raise Refused(f"view {view} is not served", fix="run `lk status`")
    return pin


def topic_accounts(settings: Settings) -> list[TopicAccount]:
    """The record accounting of every topic: Kafka's offsets, the run's manifest, the archive's rows."""
    pin = pin_of(settings, BY_DAY)
    log = kafka_admin.end_offsets(settings, list(_VIEW_OF))
    epochs = read_epochs(settings, pin.run) if pin.run else []
    return [
        _topic_account(settings, topic, log, epochs, pin_of(settings, view).cut) for topic, view in _VIEW_OF.items()
    ]


def _topic_account(settings: Settings, topic: Name, log: Cut, epochs: Sequence[Epoch], cut: Cut) -> TopicAccount:
    counted = sum((of_topic(epoch.counted, topic) for epoch in epochs), RecordCounts())
    archive = quoted(Name("lake"), Name("archive"), topic)
    sql = f"SELECT count_if(_error IS NULL), count_if(_error IS NOT NULL) FROM {archive}"  # noqa: S608
    decoded, quarantined = query(settings, sql).rows[0]
    return TopicAccount(
        topic=topic,
        log=log.only([topic]).size,
        speed_decoded=counted.decoded,
        speed_quarantined=counted.quarantined,
        cut=cut.only([topic]).size,
        batch_decoded=decoded,
        batch_quarantined=quarantined,
    )


def count_sql(view: View) -> str:
    """SQL for the number of events in a served view: the sum of its plain count, divided by the copies per window."""
    counts = [m.name for m in view.measures if isinstance(m, Count) and not m.of] if isinstance(view, Rollup) else []
    if not isinstance(view, Rollup) or not counts:
        raise Refused(f"view {view.name} has no plain count", fix="use a view with a plain count")
    copies = view.window.copies if view.window else 1
    return f"SELECT coalesce(sum({quoted(Name(counts[0]))}), 0) / {copies} FROM {served(Name(view.name))}"  # noqa: S608


def total(settings: Settings, catalog: Catalog, view: Name) -> int:
    """The number of events in the served view now."""
    return int(query(settings, count_sql(catalog.views[view])).rows[0][0])


def served(view: Name) -> str:
    """The full name of the served view, quoted."""
    return quoted(Name("lake"), Name("serving"), view)


def tickers(settings: Settings, table: str, where: str = "") -> dict[str, Ticker]:
    """Every ticker over all days, from a batch table, a speed table or a served view."""
    sql = f"SELECT {_SUMS} FROM {table} {where} GROUP BY ticker"  # noqa: S608 - names are quoted Names
    return {row[0]: Ticker(*row) for row in query(settings, sql).rows}


def split(settings: Settings) -> list[TickerByLayer]:
    """All tickers by layer and merged, the most traded first."""
    pin = pin_of(settings, BY_DAY)
    if pin.build is None or pin.run is None:
        raise Refused(f"{BY_DAY} is not served from a build and a run", fix="run `lk status`")
    batch = tickers(settings, quoted(Name("lake"), Name("batch"), joined(BY_DAY, pin.build)))
    speed_table = quoted(Name("lake"), Name("speed"), joined(BY_DAY, pin.run))
    speed = tickers(settings, speed_table, f"WHERE {epoch_range.within(pin.epoch)}")
    merged = tickers(settings, served(BY_DAY))
    rows = [TickerByLayer(batch.get(name), speed.get(name), row) for name, row in merged.items()]
    return sorted(rows, key=lambda row: (-row.merged.trades, row.merged.ticker))


def hours(settings: Settings) -> list[Hour]:
    """Traffic by hour, all status classes together."""
    sql = f"""
        SELECT hour, sum(requests), coalesce(sum(requests) FILTER (WHERE status_class IN ('4xx', '5xx')), 0), sum(bytes)
        FROM {served(BY_HOUR)} GROUP BY hour ORDER BY hour"""  # noqa: S608
    return [Hour(*row) for row in query(settings, sql).rows]


def table(settings: Settings, view: Name, keys: str, values: str) -> Table:
    """A served view's rows by key. Raises Refused if a key is repeated."""
    rows = query(settings, f"SELECT {keys}, {values} FROM {served(view)}").rows  # noqa: S608
    width = keys.count(",") + 1
    by_key = {tuple(map(_plain, row[:width])): tuple(map(_plain, row[width:])) for row in rows}
    if len(by_key) != len(rows):
        raise Refused(f"view {view} has repeated keys", fix=REPORT_BUG)
    return by_key


def totals(settings: Settings, view: Name, *measures: str) -> tuple[Any, ...]:
    """Sums of some measures over all rows of a served view."""
    sums = ", ".join(f"sum({quoted(Name(measure))})" for measure in measures)
    return tuple(query(settings, f"SELECT {sums} FROM {served(view)}").rows[0])  # noqa: S608


def _plain(value: Any) -> Any:
    """Converts to the types of the plain Python counts: UTC times, dates as midnight, whole decimals as int."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    return value
