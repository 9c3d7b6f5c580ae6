"""Alarm signals: literal counts in, literal signals out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from cli.output import plain
from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from infra.control.manifest import Epoch
from serving.alarms import ViewAlarms, epoch_age, ledger_off, quarantine_rate
from serving.ledger import PartitionCounts, ViewCounts

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
TRADES, VIEW = Name("trades"), Name("trades_by_day")


def epoch(minutes: float) -> Epoch:
    return Epoch(7, Cut(), Cut(), {}, {}, {}, 0, NOW - timedelta(minutes=minutes), Totals())


def test_counts_that_match_raise_no_alarm() -> None:
    lines = [PartitionCounts(TRADES, 0, 100, 98, 2), PartitionCounts(TRADES, 1, 50, 40, 0, gaps=True)]
    assert ledger_off(lines, ViewCounts(VIEW, 98, 98)) == 0


def test_missing_and_repeated_records_are_counted() -> None:
    lines = [PartitionCounts(TRADES, 0, 100, 97, 2), PartitionCounts(TRADES, 1, 50, 53, 0)]
    assert ledger_off(lines, ViewCounts(VIEW, 10, 15)) == 1 + 3 + 5
    assert ledger_off(lines, None) is None


def test_the_rate_is_the_quarantined_share_of_all_partitions() -> None:
    assert quarantine_rate(Totals({"t/0": RecordCounts(98, 97, 1), "t/1": RecordCounts(102, 100, 2)})) == 3 / 200
    assert quarantine_rate(Totals()) == 0.0


def test_an_epoch_ages_only_while_something_waits() -> None:
    assert epoch_age(epoch(2), NOW, waiting=True) == 120.0
    assert epoch_age(epoch(2), NOW, waiting=False) == 0.0
    assert epoch_age(None, NOW, waiting=True) is None


def test_a_line_has_what_the_alarms_read() -> None:
    line = json.dumps(plain(ViewAlarms(VIEW, 0, 0.015, 120.0)))
    assert line == '{"view": "trades_by_day", "ledger_off": 0, "quarantine_rate": 0.015, "epoch_age_seconds": 120.0}'
