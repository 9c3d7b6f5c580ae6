"""A promotion waits until the runs that serve have ended their epochs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.errors import TryAgain
from core.identifiers import Name
from infra.control.pins import Pin
from infra.control.runs import Run
from infra.lake import leases
from infra.local.epoch_lock import run_epoch
from infra.settings import Settings
from serving import promote
from serving.publish import ServedNow

SERVING, NEW, VIEW = Name("r000001"), Name("r000002"), Name("v")
PINS = {run: {VIEW: Pin(None, run, -2, Cut(), Name("d"), "kappa", Name("s"))} for run in (SERVING, NEW)}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The new run has caught up."""
    monkeypatch.setattr(promote, "_wait", lambda *_: None)
    return Settings(data=tmp_path).model_copy(update={"lease_seconds": 1.5})


def promoted(settings: Settings) -> AbstractContextManager[None]:
    run, now = Run(NEW, {}, {}, {}, Cut()), ServedNow(None, PINS[SERVING])
    return promote.caught_up(settings, Catalog({}, {}), run, PINS[NEW], now, 1.0)


def test_a_run_that_serves_and_does_not_end_its_epoch_is_not_replaced(settings: Settings) -> None:
    """Its epoch would be committed after the last look at the offsets: readers would see fewer records."""
    reached, lease = list[str](), f"run_{SERVING}"
    slow = pytest.raises(TryAgain, match="run r000001 has not ended its epoch within 2 s")
    with leases.hold(settings, lease), run_epoch(settings, SERVING, 1.0), slow, promoted(settings):
        reached.append("in its epoch")
    with run_epoch(settings, SERVING, 1.0), promoted(settings):
        reached.append("paused until its lease ended")
    with leases.hold(settings, lease), promoted(settings):
        reached.append("between two epochs")
    assert reached == ["paused until its lease ended", "between two epochs"]


def test_a_view_that_another_run_serves_stays_with_it_when_a_damaged_run_is_replaced(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new run starts at a cut that is hours old: of views of a healthy run, readers would see fewer records."""
    healthy, other = Name("r000003"), Name("w")
    damaged = Pin(Name("b000001"), SERVING, 5, Cut(), Name("d"), "lambda", Name("s"))
    pins = {VIEW: damaged, other: replace(damaged, build=None, run=healthy, mode="kappa")}
    replaced = {view: replace(damaged, build=Name("b000009"), run=NEW) for view in pins}
    changes = []
    monkeypatch.setattr("serving.promote.runs.read_run", lambda _, run: Run(run, {}, {}, {}, Cut()))
    monkeypatch.setattr(promote, "served_now", lambda *_: ServedNow(None, pins, dict.fromkeys(pins, "SQL")))
    monkeypatch.setattr(promote, "_pins", lambda *_: replaced)
    monkeypatch.setattr("serving.promote.replace_views.apply_change", lambda *words: changes.append(words[-1]))
    promote.replace_run(settings, Catalog({}, {}), NEW, SERVING, "test")
    assert [change.pins for change in changes] == [{VIEW: replaced[VIEW], other: pins[other]}]
    assert changes[0].kept_sql == {other: "SQL"}


def test_a_damaged_run_that_a_process_drives_is_not_replaced(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused at once, so it names no time that it waited."""
    monkeypatch.setattr("serving.promote.runs.read_run", lambda _, run: Run(run, {}, {}, {}, Cut()))
    driven = pytest.raises(TryAgain, match=r"^a process drives run r000001, whose tables are damaged")
    with leases.hold(settings, f"run_{SERVING}"), driven as refused:
        promote.replace_run(settings, Catalog({}, {}), NEW, SERVING, "test")
    assert refused.value.fix == "stop it, then run the command again"
