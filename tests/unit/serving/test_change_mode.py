"""A rollback records by how many records readers go back until the runs that it serves have caught up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from core.measures import Count
from core.record_counts import Totals
from core.view import Key, Rollup
from infra.control import runs
from infra.control.manifest import ARCHIVE_EPOCH, EPOCHS, Epoch, epoch_row
from infra.control.pins import Pin
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from serving import change_mode

AT = datetime(2026, 1, 2, tzinfo=UTC)
BUILD, FIRST, SECOND, THIRD = Name("b000001"), Name("r000001"), Name("r000002"), Name("r000003")
TRADES, VISITS = Name("by_trade"), Name("by_visit")
SOURCES = {TRADES: "trades", VISITS: "visits"}
Pins = Mapping[Name, Pin]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


def reads_up_to(settings: Settings, run: Name, **ends: int) -> None:
    """Commits an epoch of a run."""
    path, end = table_paths.manifest(settings, run), Cut.of({topic: {0: offset} for topic, offset in ends.items()})
    delta.create(path, EPOCHS)
    epoch = Epoch(0, Cut(), end, {}, {}, {}, 0, AT, Totals())
    idempotent_writes.append_once(path, epoch_row(epoch), runs.txn_app(run), 0)


def of_run(run: Name) -> Pin:
    return Pin(None, run, ARCHIVE_EPOCH - 1, Cut(), Name("d"), "kappa", Name("s"))


def of_build(run: Name | None = None, **ends: int) -> Pin:
    cut = Cut.of({topic: {0: offset} for topic, offset in ends.items()})
    return Pin(BUILD, run, ARCHIVE_EPOCH, cut, Name("d"), "lambda" if run else "batch", Name("s"))


def behind(settings: Settings, now: Pins, before: Pins) -> int:
    views = (Rollup(name, (topic,), (Key("k", "k"),), (Count("n"),)) for name, topic in SOURCES.items())
    catalog = Catalog({}, {Name(view.name): view for view in views})
    return change_mode._behind(settings, catalog, now, before)


def test_a_build_alone_is_behind_by_what_follows_its_cut(settings: Settings) -> None:
    reads_up_to(settings, FIRST, trades=1_000, visits=500)
    now = {TRADES: of_build(FIRST, trades=990, visits=400)}
    assert behind(settings, now, {TRADES: of_build(trades=970, visits=400)}) == 30


def test_each_view_is_compared_with_itself(settings: Settings) -> None:
    """The run of the other view reads another topic: its offsets say nothing about this one."""
    reads_up_to(settings, FIRST, trades=90)
    reads_up_to(settings, SECOND, visits=40)
    reads_up_to(settings, THIRD, trades=100)
    now = {TRADES: of_run(THIRD), VISITS: of_run(SECOND)}
    assert behind(settings, now, {TRADES: of_run(FIRST), VISITS: of_run(SECOND)}) == 10


def test_the_view_that_is_furthest_behind_counts(settings: Settings) -> None:
    reads_up_to(settings, FIRST, trades=90, visits=1_000)
    reads_up_to(settings, SECOND, trades=100, visits=1_200)
    now, before = ({TRADES: of_run(run), VISITS: of_run(run)} for run in (SECOND, FIRST))
    assert behind(settings, now, before) == 200
    assert behind(settings, before, now) == 0


def test_a_view_without_a_definition_or_without_a_pin_does_not_count(settings: Settings) -> None:
    reads_up_to(settings, FIRST, trades=1_000)
    now = {TRADES: of_run(FIRST), Name("dropped"): of_run(FIRST)}
    assert behind(settings, now, {Name("dropped"): of_build(trades=970)}) == 0
