"""Every number of the demo: as counted in plain Python, beside what Trino answers."""

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


def traffic(settings: Settings, log: Path) -> list[NumberCheck]:
    """The two views of the access log: its known totals, and every row of the hourly one."""
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
    """The two views of the trades, row by row."""
    by_day = demo_queries.table(settings, BY_DAY, "ticker, day", "trades, volume, price_low, price_high, price_last")
    by_window = demo_queries.table(
        settings, BY_WINDOW, "ticker, window_start", "trades, price_sum, price_min, price_max"
    )
    return [
        same("trades acknowledged by Kafka", tally.count, sum(one.count for one in sent)),
        same_rows("all rows of trades_by_day", tally.by_day(), by_day),
        same_rows("all rows of trade_stats", tally.by_window(), by_window),
    ]


def layers(split: Sequence[TickerByLayer], ledger: Sequence[TopicAccount], freshness: Freshness) -> list[NumberCheck]:
    """What batch and speed say of each other, and of the log."""
    log = {row.topic: row for row in ledger}
    took_part = any(row.batch for row in split) + any(row.speed for row in split)
    return [
        same("tickers where batch + speed = merged", len(split), sum(row.adds_up for row in split)),
        same("layers that contribute to trades_by_day", 2, took_part),
        same("records of the access log in the log", LINES, log["access_log"].log),
        same("records that speed quarantined", QUARANTINED, sum(row.speed_quarantined for row in ledger)),
        same("records that batch quarantined", QUARANTINED, sum(row.batch_quarantined for row in ledger)),
        same("topics whose ledger closes", len(ledger), sum(row.ok for row in ledger)),
        same("answers that went back while batch published", 0, freshness.went_back),
    ]


def health(found: Overview, when: str = "") -> NumberCheck:
    """What `lk status` says: nothing may be wrong."""
    return NumberCheck(f"what `lk status` finds wrong{when}", "nothing", "; ".join(found.unhealthy) or "nothing")
