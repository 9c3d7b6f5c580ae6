"""The rate that the plan of a switch shows is that of reading history, not of following the producers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import Totals
from infra.control import runs
from infra.control.manifest import EPOCHS, Epoch, epoch_row
from infra.control.runs import Run
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from speed.replay_state import last_measured_rate

AT = datetime(2026, 1, 2, tzinfo=UTC)
FIRST, SECOND = Name("r000002"), Name("r000003")
EPOCH_SECONDS = 14


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An instance with a live run, and two replays that have no epoch yet."""
    declared = [Run(Name("r000001"), {}, {}, {}, Cut())]
    declared += [Run(name, {}, {}, {}, Cut(), kind="replay") for name in (FIRST, SECOND)]
    monkeypatch.setattr(runs, "read_runs", lambda _: tuple(declared))
    return Settings(data=tmp_path)


def epoch(number: int, start: int, end: int, planned: datetime) -> Epoch:
    first, last = (Cut.of({"t": {0: offset}}) for offset in (start, end))
    committed = planned + timedelta(seconds=EPOCH_SECONDS)
    return Epoch(number, first, last, {}, {}, {}, int(planned.timestamp() * 1_000), committed, Totals())


def commit(settings: Settings, run: Name, sizes: Sequence[int], first: int = 0) -> None:
    """Epochs of these sizes, one after another; each takes 14 seconds."""
    rows, end = [], 0
    for number, size in enumerate(sizes, first):
        start, end = end, end + size
        planned = AT + timedelta(seconds=EPOCH_SECONDS * (number - first))
        rows.append(epoch_row(epoch(number, start, end, planned)))
    path = table_paths.manifest(settings, run)
    delta.create(path, EPOCHS)
    idempotent_writes.append_once(path, pa.concat_tables(rows), runs.txn_app(run), first + len(sizes) - 1)


def measured(settings: Settings) -> tuple[Name, int] | None:
    last = last_measured_rate(settings)
    return (last[0], round(last[1])) if last else None


def test_epochs_that_follow_the_producers_do_not_count(settings: Settings) -> None:
    commit(settings, FIRST, [4_000_000] * 10 + [1_000] * 50)
    assert measured(settings) == (FIRST, 285_714)


def test_the_archives_epoch_does_not_count(settings: Settings) -> None:
    """It reads no log; however large it is, the rate is that of the epochs after it."""
    commit(settings, FIRST, [90_000_000, 4_000_000, 4_000_000, 1_000], first=-1)
    assert measured(settings) == (FIRST, 285_714)


def test_the_last_replay_that_read_records_counts(settings: Settings) -> None:
    commit(settings, FIRST, [2_800_000])
    assert measured(settings) == (FIRST, 200_000)
    commit(settings, SECOND, [0, 0])
    assert measured(settings) == (FIRST, 200_000)


def test_without_an_epoch_there_is_no_rate(settings: Settings) -> None:
    assert measured(settings) is None
