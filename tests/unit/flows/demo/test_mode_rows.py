"""The table of both modes shows exactly the measured values, with n, and only what both modes were measured for."""

from __future__ import annotations

from dataclasses import replace

from flows.demo.both_modes import WARM_AFTER
from flows.demo.mode_rows import rows
from infra.local.resource_usage import ResourceUsage
from tests.support.examples.demo_example import KAPPA, LAMBDA

LIVE = {
    "freshness, p50": ("0.81 s", "0.70 s", "8,000 events"),
    "freshness, p99": ("1.50 s", "1.00 s", "8,000 events"),
    "latency, p50": ("0.24 s", "0.20 s", "9 queries"),
    "live: CPU s per million": ("1,125", "988", "8,000 / 8,100 records"),
    "live: MB per million": ("500", "247", "8,000 / 8,100 records"),
}
OTHERS = {
    "full computation: start-up": ("12.3 s", "8.0 s", "1 start"),
    "full computation: rate after that": ("10,250/s", "27,300/s", "500,000 / 600,000 records"),
    "full computation: whole command": ("61 s", "30 s", "500,000 / 600,000 records"),
    "full computation: CPU s per million": ("160", "50", "500,000 / 600,000 records"),
    "disk used": ("123 MB", "1 MB", "650,000 / 630,000 records"),
    "processes that must run": ("3", "3", ""),
    "jobs to schedule": ("2", "0", ""),
    "tables read by a query": ("2", "1", ""),
}


def test_every_row_shows_both_modes_and_from_how_many_samples() -> None:
    """The example has no bytes written by the replay, so no row compares those of a full computation."""
    assert {row.what: (row.first, row.second, row.n) for row in rows(LAMBDA, KAPPA)} == LIVE | OTHERS


def test_what_is_live_is_compared_only_where_both_processes_are_warm() -> None:
    cold, warm = replace(KAPPA, uptime=WARM_AFTER - 1), replace(KAPPA, uptime=WARM_AFTER)
    assert [row.what for row in rows(LAMBDA, cold)] == list(OTHERS)
    assert [row.what for row in rows(replace(LAMBDA, uptime=3.0), KAPPA)] == list(OTHERS)
    assert [row.what for row in rows(LAMBDA, warm)] == [*LIVE, *OTHERS]


def test_a_row_without_a_measured_value_of_one_mode_is_left_out() -> None:
    without = {row.what for row in rows(LAMBDA, replace(KAPPA, live=ResourceUsage(), live_records=0))}
    assert (LIVE | OTHERS).keys() - without == {"live: CPU s per million", "live: MB per million"}
    assert "full computation: MB per million" in {
        row.what for row in rows(LAMBDA, replace(KAPPA, rebuilt=LAMBDA.rebuilt))
    }


def test_the_last_column_names_what_was_counted() -> None:
    texts = {row.what: row.how for row in rows(LAMBDA, KAPPA)}
    assert texts["jobs to schedule"] == "lambda: claim, land; kappa: none"
    assert texts["processes that must run"] == "lambda: kafka, trino, speed-r000001; kappa: kafka, trino, speed-r000002"
