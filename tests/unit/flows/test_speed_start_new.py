"""`lk speed start --new` that is run again goes on with the run that it started, and waits as long as that reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.record_counts import Totals
from flows import catching_up, speed
from infra.control.manifest import Epoch
from infra.control.run_roles import Role
from infra.control.runs import Run
from infra.settings import Settings
from speed.process.lifecycle import RunState
from tests.support.records.control_rows import PIN, PUBLICATION
from views import trade_stats, trades

VIEW = Name("trade_stats")
CATALOG = Catalog({Name("trades"): trades.TOPIC}, {VIEW: trade_stats.VIEW})
START, SERVED = Cut.of({"trades": {0: 10}}), Cut.of({"trades": {0: 100}})


@dataclass
class FakeRuns:
    """Declared runs with their roles and the runs that have a process, behind what ``lk speed start`` calls."""

    runs: list[Run] = field(default_factory=list)
    roles: dict[Name, Role] = field(default_factory=dict)
    alive: set[Name] = field(default_factory=set)
    served: list[Name] = field(default_factory=list)
    ready: bool = True

    def declare(self, *_: object) -> Run:
        views = {name: CATALOG.digest(name) for name in CATALOG.views}
        decoders = {topic: CATALOG.decoder(topic) for topic in CATALOG.topics}
        run = Run(Name(f"r{len(self.runs) + 1:06d}"), views, {Name("trades"): "id"}, decoders, START)
        self.runs.append(run)
        self.roles[run.id] = "idle"
        return run

    def start(self, _: Settings, run: Name) -> RunState:
        self.alive.add(run)
        return RunState(run, alive=True, phase="running", epoch=0)

    def serve(self, _settings: Settings, _catalog: Catalog, run: Name, _why: str) -> None:
        if not self.ready:
            raise TryAgain("it has not reached what is served")
        self.served.append(run)


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> FakeRuns:
    instance = FakeRuns()
    monkeypatch.setattr(speed, "_refuse_in_kappa", lambda *_: None)
    monkeypatch.setattr(speed, "_start_cut", lambda *_: START)
    monkeypatch.setattr(speed, "_serve", instance.serve)
    monkeypatch.setattr(speed, "has_served", lambda _, run: run in instance.served)
    monkeypatch.setattr("flows.speed.catching_up.wait_until_read", lambda *_: None)
    monkeypatch.setattr("flows.speed.lifecycle.declare", instance.declare)
    monkeypatch.setattr("flows.speed.lifecycle.start", instance.start)
    monkeypatch.setattr("flows.speed.runs.read_runs", lambda _: tuple(instance.runs))
    monkeypatch.setattr("flows.speed.run_roles.roles", lambda _: instance.roles)
    monkeypatch.setattr("flows.speed.run_roles.current_run", lambda _: None)
    monkeypatch.setattr("flows.speed.background.alive", lambda _, run: run in instance.alive)
    monkeypatch.setattr("flows.speed.background.stop", lambda _, run: instance.alive.discard(run))
    return instance


def test_a_repeated_start_goes_on_with_the_run_that_has_not_caught_up(instance: FakeRuns, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    instance.ready = False
    for _ in range(3):
        with pytest.raises(TryAgain, match="it has not reached what is served"):
            speed.start(settings, CATALOG, new=True)
    assert [run.id for run in instance.runs] == ["r000001"]
    instance.ready = True
    assert (speed.start(settings, CATALOG, new=True).run, instance.served) == ("r000001", ["r000001"])
    instance.roles[Name("r000001")] = "serving"
    assert speed.start(settings, CATALOG, new=True).run == "r000002"  # one more, as people ask for


@pytest.mark.parametrize("case", ["another definition", "no process", "a replay", "it has served"])
def test_a_run_that_cannot_be_gone_on_with_is_left_alone(instance: FakeRuns, tmp_path: Path, case: str) -> None:
    run = instance.declare()
    instance.alive |= set() if case == "no process" else {run.id}
    instance.served += [run.id] if case == "it has served" else []
    if case == "another definition":
        instance.runs[0] = replace(run, views={VIEW: Name("old")})
    if case == "a replay":
        instance.runs[0] = replace(run, kind="replay")
    assert speed.start(Settings(data=tmp_path), CATALOG, new=True).run == "r000002"


def test_it_waits_as_long_as_the_run_reads_and_not_for_a_process_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path)
    run = FakeRuns().declare()
    ends = iter([10, 40, 70, 100])
    pins = {VIEW: replace(PIN, cut=SERVED)}
    monkeypatch.setattr(catching_up, "last_done", lambda _: replace(PUBLICATION, pins=pins))
    monkeypatch.setattr(catching_up, "last_epoch", lambda *_: epoch(next(ends)))
    monkeypatch.setattr("flows.catching_up.background.alive", lambda *_: True)
    catching_up.wait_until_read(settings, run)
    assert next(ends, None) is None  # it looked until all 90 records were read
    monkeypatch.setattr(catching_up, "last_epoch", lambda *_: None)
    monkeypatch.setattr("flows.catching_up.background.alive", lambda *_: False)
    died = RunState(run.id, alive=False, phase="failed", epoch=3, reason="the disk is full", log=tmp_path / "log")
    monkeypatch.setattr("flows.catching_up.lifecycle.status", lambda *_: died)
    with pytest.raises(Refused, match="run r000001 failed: the disk is full") as refused:
        catching_up.wait_until_read(settings, run)
    assert "then run the command again: it starts another run" in refused.value.fix


def epoch(end: int) -> Epoch:
    cut = Cut.of({"trades": {0: end}})
    return Epoch(1, START, cut, {}, {}, {}, 0, datetime.now(UTC), Totals())
