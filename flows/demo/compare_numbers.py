"""Every number of the demo: counted in plain Python, and as Trino answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flows.measure import demo_queries
from flows.measure.demo_queries import BY_DAY, BY_HOUR, BY_PATH, BY_WINDOW, TickerByLayer, TopicAccount
from flows.measure.expected import (
    BYTES,
    LINES,
    QUARANTINED,
    REQUESTS,
    NumberCheck,
    Tally,
    same,
    same_rows,
    traffic_by_hour,
)
from flows.measure.freshness import Freshness
from flows.overview import Overview
from infra.kafka.producer import Acknowledged
from infra.settings import Settings

COMPARING = "reading every view and comparing it with plain Python"


def traffic(settings: Settings, log: Path) -> list[NumberCheck]:
    """The two views of the access log: its totals, and every row of the hourly view."""
    by_hour = demo_queries.totals(settings, BY_HOUR, "requests", "bytes")
    by_path = demo_queries.totals(settings, BY_PATH, "requests", "bytes")
    rows = demo_queries.table(settings, BY_HOUR, "hour, status_class", "requests, bytes")
    return [
        same("requests of the access log, by hour", REQUESTS, by_hour[0]),
        same("bytes of the access log, by hour", BYTES, by_hour[1]),
        same("requests of the access log, by path", REQUESTS, by_path[0]),
        same("bytes of the access log, by path", BYTES, by_path[1]),
        same_rows("all rows of traffic_by_hour", traffic_by_hour(log), rows),
    ]


def trades(settings: Settings, tally: Tally, *sent: Acknowledged) -> list[NumberCheck]:
    """The two views of trades, row by row."""
    by_day = demo_queries.table(settings, BY_DAY, "ticker, day", "trades, volume, price_low, price_high, price_last")
    by_window = demo_queries.table(
        settings, BY_WINDOW, "ticker, window_start", "trades, price_sum, price_min, price_max"
    )
    return [
        same("trades acknowledged by Kafka", tally.count, sum(topic.count for topic in sent)),
        same_rows("all rows of trades_by_day", tally.by_day(), by_day),
        same_rows("all rows of trade_stats", tally.by_window(), by_window),
    ]


def layers(split: Sequence[TickerByLayer], ledger: Sequence[TopicAccount], freshness: Freshness) -> list[NumberCheck]:
    """Compares batch and speed with each other and with Kafka."""
    topics = {row.topic: row for row in ledger}
    layers_with_rows = any(row.batch for row in split) + any(row.speed for row in split)
    return [
        same("tickers where batch + speed = merged", len(split), sum(row.adds_up for row in split)),
        same("layers that contribute to trades_by_day", 2, layers_with_rows),
        same("records of the access log in Kafka", LINES, topics["access_log"].log),
        same("records that speed quarantined", QUARANTINED, sum(row.speed_quarantined for row in ledger)),
        same("records that batch quarantined", QUARANTINED, sum(row.batch_quarantined for row in ledger)),
        same("topics where decoded + quarantined = total", len(ledger), sum(row.ok for row in ledger)),
        same("counts that went back while batch published", 0, freshness.went_back),
    ]


def health(overview: Overview, when: str = "") -> NumberCheck:
    """The problems that `lk status` reports; there must be none."""
    return NumberCheck(f"problems that `lk status` reports{when}", "none", "; ".join(overview.unhealthy) or "none")
