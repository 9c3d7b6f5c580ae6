"""Topics with too many quarantined records, in all or of late: redriven ones of that time do not count."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.cut import Cut
from core.record_counts import RecordCounts, Totals
from infra.control import locks, redrives
from infra.control.redrives import Redrive
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from speed.quarantine.recent_counts import PeriodCounts
from speed.quarantine.share import too_many
from tests.unit.speed.quarantine.test_large_quarantine import CATALOG, SCHEMA, TRADES, rows

BAD_FROM = 99_000  # the hour's first offset
END = Cut.of({TRADES: {0: 100_000}})
TOTAL = PeriodCounts(Totals({"trades/0": RecordCounts(100_000, 99_500, 500)}))  # 1,000 are allowed
HOUR_COUNTS = Totals({"trades/0": RecordCounts(1_000, 800, 200)})  # 10 are allowed
HOUR = PeriodCounts(HOUR_COUNTS, Cut.of({TRADES: {0: BAD_FROM}}), "in the last hour")


@pytest.fixture
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """300 bad records of long ago, and 200 of the last hour."""
    settings = Settings(data=tmp_path_factory.mktemp("lake"))
    path = table_paths.archive(settings, TRADES, CATALOG.decoder(TRADES))
    delta.create(path, SCHEMA)
    offsets = [*range(300), *range(BAD_FROM, BAD_FROM + 200)]
    idempotent_writes.append_once(path, rows({offset: b"bad %d" % offset for offset in offsets}), "test", 1)
    return settings


def redriven(settings: Settings, seq: int, offsets: range, at: datetime) -> None:
    origins = {f"trades/0/{offset}": "f" for offset in offsets}
    with locks.hold(settings, "redrives") as lease:
        redrives.add_redrive(settings, lease, Redrive(seq, "done", END, origins, at, "me"))


def test_redriven_records_do_not_count_and_those_of_long_ago_hide_no_new_ones(settings: Settings) -> None:
    now = datetime.now(UTC)
    (share,) = too_many(settings, CATALOG, TOTAL, HOUR)
    assert (share.period, share.records, share.quarantined, share.allowed) == ("in the last hour", 1_000, 200, 10)
    assert (share.rules, share.example and share.example.redriven) == ({"no_match": 1.0}, False)
    redriven(settings, 1, range(300), now)
    (share,) = too_many(settings, CATALOG, TOTAL, HOUR)
    assert (share.period, share.quarantined) == ("in the last hour", 200)
    redriven(settings, 2, range(BAD_FROM, BAD_FROM + 189), now - timedelta(hours=2))  # a host whose clock is late
    (share,) = too_many(settings, CATALOG, TOTAL, HOUR)
    assert (share.period, share.quarantined) == ("in the last hour", 11)
    redriven(settings, 3, range(BAD_FROM + 189, BAD_FROM + 190), now)
    assert too_many(settings, CATALOG, TOTAL, HOUR) == ()


def test_what_was_redriven_before_a_run_began_hides_nothing_that_it_counts(settings: Settings) -> None:
    redriven(settings, 1, range(300), datetime.now(UTC))
    (share,) = too_many(settings, CATALOG, replace(HOUR, period="so far"))
    assert (share.period, share.quarantined) == ("so far", 200)
