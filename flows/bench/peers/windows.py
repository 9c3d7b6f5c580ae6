"""The windows of trade_stats that each system computed, and how many of them differ."""

from __future__ import annotations

from dataclasses import dataclass

from core.identifiers import Name
from flows.measure import demo_queries
from flows.measure.demo_queries import BY_WINDOW
from infra.kafka import kafka_admin
from infra.kafka.log_reader import committed_records
from infra.settings import Settings
from infra.trino.metastore import query

# "ticker,start" → "trades,sum,least,most": start in epoch milliseconds, prices in cents.
Windows = dict[str, str]


@dataclass(frozen=True)
class WindowDifference:
    """How many windows two systems computed differently or only one of them did; ``first`` shows one of them."""

    compared: int
    different: int
    first: str = ""


def of_peer(settings: Settings, output: Name) -> Windows:
    """The windows in a peer's output topic; of several updates of a window, the last one."""
    windows: Windows = {}
    for partition in range(kafka_admin.partitions(settings, [output])[output]):
        for message in committed_records(settings, output, partition):
            ticker, start, cells = (message.value() or b"").decode().split(",", 2)
            windows[f"{ticker},{start}"] = cells
    return windows


def of_ours(settings: Settings) -> Windows:
    """The windows that Trino serves."""
    cents = ", ".join(f"CAST({column} * 100 AS bigint)" for column in ("price_sum", "price_min", "price_max"))
    start = "CAST(to_unixtime(window_start) * 1000 AS bigint)"
    sql = f"SELECT ticker, {start}, trades, {cents} FROM {demo_queries.served(BY_WINDOW)}"  # noqa: S608 - constants
    rows = query(settings, sql).rows
    return {f"{ticker},{begin}": ",".join(map(str, cells)) for ticker, begin, *cells in rows}


def difference(ours: Windows, theirs: Windows) -> WindowDifference:
    """Compares every window and every cell."""
    differing = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
    if not differing:
        return WindowDifference(len(ours), 0)
    first = min(differing)
    shown = f"{first}: ours {ours.get(first, 'has no such window')}, theirs {theirs.get(first, 'has no such window')}"
    return WindowDifference(len(ours), len(differing), shown)
