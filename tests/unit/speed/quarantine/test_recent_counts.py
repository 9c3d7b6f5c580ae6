"""What counts as recent: a load that was broken as a whole is not forgotten after an hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from infra.control import runs
from infra.control.manifest import EPOCHS, Epoch, epoch_row
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from speed.quarantine import recent_counts, share
from tests.unit.speed.quarantine.test_large_quarantine import CATALOG, TRADES

RUN = Name("r000001")


class Manifest:
    """The manifest of a run whose epochs are added with their ages."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.path = table_paths.manifest(settings, RUN)
        self.number, self.end, self.total = -1, 0, Totals()
        delta.create(self.path, EPOCHS)

    def add(self, hours_ago: float, good: int, bad: int = 0) -> None:
        """Commits an epoch, so many hours ago."""
        counted = {"trades/0": RecordCounts(good + bad, good, bad)}
        start, self.end = self.end, self.end + good + bad
        self.number, self.total = self.number + 1, self.total + Totals(counted)
        at = datetime.now(UTC) - timedelta(hours=hours_ago)
        first, end = (Cut.of({TRADES: {0: offset}}) for offset in (start, self.end))
        epoch = Epoch(self.number, first, end, counted, {}, {}, 0, at, self.total)
        idempotent_writes.append_once(self.path, epoch_row(epoch), runs.txn_app(RUN), self.number)

    def too_many(self) -> list[tuple[str, int, int, int]]:
        """Period, quarantined records, all records and how many may be quarantined."""
        shares = share.of_run(self.settings, CATALOG, RUN)
        return [(each.period, each.quarantined, each.records, each.allowed) for each in shares]


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    for module in (recent_counts, share):
        monkeypatch.setattr(module, "read_run", lambda *_: SimpleNamespace(start=Cut()))
    return Manifest(Settings(data=tmp_path))


def test_a_broken_load_counts_for_a_day_and_until_newer_records_follow(manifest: Manifest) -> None:
    manifest.add(1_000, 1_000_000_000)
    manifest.add(1.02, 0, 5_000_000)
    assert manifest.too_many() == [("in the last day", 5_000_000, 5_000_000, 50_000)]
    manifest.add(0.5, 10_000)
    assert manifest.too_many() == [("in the last day", 5_000_000, 5_010_000, 50_100)]


def test_a_quiet_topic_stays_unhealthy_until_newer_records_are_better(manifest: Manifest) -> None:
    manifest.add(1_000, 1_000_000_000)
    manifest.add(48, 0, 5_000_000)
    assert manifest.too_many() == [("that came last", 5_000_000, 5_000_000, 50_000)]
    manifest.add(30, 9_999)
    assert manifest.too_many() == [("that came last", 5_000_000, 5_009_999, 50_099)]
    manifest.add(29, 1)
    assert manifest.too_many() == []


def test_a_bad_hour_of_a_topic_is_named_first(manifest: Manifest) -> None:
    manifest.add(1_000, 1_000_000)
    manifest.add(2, 10_000)
    manifest.add(0.1, 90, 11)
    assert manifest.too_many() == [("in the last hour", 11, 101, 10)]


def test_a_topic_with_few_bad_records_is_not_looked_up(manifest: Manifest) -> None:
    manifest.add(1_000, 1_000_000, 10)
    periods = [counted.period for counted in recent_counts.recent_counts(manifest.settings, RUN)]
    assert periods == ["in the last hour", "in the last day"]
    manifest.add(999, 0, 1)
    (*_, newest) = recent_counts.recent_counts(manifest.settings, RUN)
    assert (newest.period, newest.start) == ("that came last", Cut())
    manifest.add(998, 9_999)
    (*_, newest) = recent_counts.recent_counts(manifest.settings, RUN)
    assert newest.start == Cut.of({TRADES: {0: 1_000_010}})
    assert newest.counts.partitions == {"trades/0": RecordCounts(10_000, 9_999, 1)}
