"""Records of erased persons are not broken: neither they nor the rows of another run hide those that are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.event_columns import ERROR
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from speed.quarantine import newest_rules
from speed.quarantine.recent_counts import PeriodCounts
from speed.quarantine.share import too_many
from tests.support.instances import sealed_visits
from tests.unit.speed.quarantine.test_large_quarantine import SCHEMA, rows

VISITS, OLD, NEW = Name("visits"), Name("r000001"), Name("r000002")
CATALOG = Catalog({VISITS: sealed_visits.topic()}, {})


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    decoders = {VISITS: CATALOG.decoder(VISITS)}
    runs = [SimpleNamespace(id=run, decoders=decoders) for run in (OLD, NEW)]
    monkeypatch.setattr("infra.control.runs.read_runs", lambda _: runs)
    monkeypatch.setattr(newest_rules, "LOOKED_AT", 20)
    return Settings(data=tmp_path)


def quarantined(settings: Settings, run: Name, number: int, offsets: range, rule: str) -> None:
    path = table_paths.quarantine(settings, run)
    if not delta.exists(path):
        delta.create(path, SCHEMA)
    rules = [row | {"_topic": VISITS, ERROR: rule} for row in rows(dict.fromkeys(offsets, b"x")).to_pylist()]
    idempotent_writes.append_once(path, pa.Table.from_pylist(rules, SCHEMA), "test", number)


def counted(quarantined: int, start: int = 0) -> PeriodCounts:
    """Of 1,000 records of the older run, 10 may be in quarantine."""
    counts = Totals({"visits/0": RecordCounts(1_000, 1_000 - quarantined, quarantined)})
    return PeriodCounts(counts, Cut.of({VISITS: {0: start}}), run=OLD)


def test_rows_of_another_run_hide_no_broken_record(settings: Settings) -> None:
    quarantined(settings, OLD, 1, range(100), "no_match")
    quarantined(settings, NEW, 1, range(200), "rule_erased")
    (share,) = too_many(settings, CATALOG, counted(100))
    assert (share.quarantined, share.rules) == (100, {"no_match": 1.0})


def test_newer_records_of_erased_persons_hide_no_broken_one(settings: Settings) -> None:
    quarantined(settings, OLD, 1, range(15), "no_match")
    quarantined(settings, OLD, 2, range(15, 100), "rule_erased")
    (share,) = too_many(settings, CATALOG, counted(100))
    assert (share.quarantined, share.rules, share.example and share.example.offset) == (15, {"no_match": 1.0}, 0)
    assert too_many(settings, CATALOG, counted(94, start=6)) == ()  # nine of the period are broken


def test_records_of_erased_persons_alone_are_not_too_many(settings: Settings) -> None:
    quarantined(settings, OLD, 1, range(100), "rule_erased")
    assert too_many(settings, CATALOG, counted(100)) == ()
