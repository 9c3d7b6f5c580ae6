"""The table of both modes shows exactly the measured values."""

from __future__ import annotations

from flows.demo.both_modes import ModeFigures, RebuildTimes, rows
from flows.measure.freshness import Freshness
from infra.local.resource_usage import ResourceUsage

FRESH = Freshness(8_000, 0.81, 1.2, 1.5, 1.9, 30, 0.2, 0)
LAMBDA = ModeFigures(
    name="lambda",
    freshness=FRESH,
    query=0.236,
    rebuilt=RebuildTimes(61.4, 500_000, ResourceUsage(80.0, 100_000_000)),
    uptime=340.2,
    live=ResourceUsage(9.0, 4_000_000),
    live_records=8_000,
    disk=123_456_789,
    processes=("kafka", "trino", "speed-r000001"),
    jobs=("claim", "land"),
    tables=("batch", "speed"),
)
KAPPA = ModeFigures(
    name="kappa",
    freshness=FRESH,
    query=0.2,
    rebuilt=RebuildTimes(30.0, 600_000, ResourceUsage(30.0)),
    uptime=95.0,
    live=ResourceUsage(),
    live_records=0,
    disk=1_000_000,
    processes=("kafka", "trino", "speed-r000002"),
    jobs=(),
    tables=("speed",),
)


def test_every_row_shows_both_modes() -> None:
    texts = {row.what: (row.first, row.second) for row in rows(LAMBDA, KAPPA)}
    assert texts == {
        "freshness, p50": ("0.81 s", "0.81 s"),
        "freshness, p99": ("1.50 s", "1.50 s"),
        "speed process running for": ("340 s", "95 s"),
        "query time, p50": ("0.24 s", "0.20 s"),
        "rebuild: time": ("61 s", "30 s"),
        "rebuild: CPU s per million": ("160", "50"),
        "rebuild: MB per million": ("200", "–"),
        "live: CPU s per million": ("1,125", "–"),
        "live: MB per million": ("500", "–"),
        "disk used": ("123 MB", "1 MB"),
        "processes that must run": ("3", "3"),
        "jobs to schedule": ("2", "0"),
        "tables read by a query": ("2", "1"),
    }


def test_the_last_column_names_what_was_counted() -> None:
    texts = {row.what: row.how for row in rows(LAMBDA, KAPPA)}
    assert texts["jobs to schedule"] == "lambda: claim, land; kappa: none"
    assert "500,000 records" in texts["rebuild: time"]
    assert "600,000" in texts["rebuild: time"]
