"""The lag of a run counts the records that it is to read and has not read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from core.cut import Cut
from core.identifiers import Name
from flows.measure import load
from infra.control.runs import Run
from infra.settings import Settings

TOPIC = Name("trades")


@pytest.mark.parametrize(
    ("start", "prefix", "lag"),
    [(Cut(), Cut(), 100), (Cut.of({"trades": {0: 70}}), Cut(), 30), (Cut(), Cut.of({"trades": {0: 40}}), 60)],
)
def test_before_its_first_epoch_a_run_has_not_read_what_follows_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Cut, prefix: Cut, lag: int
) -> None:
    settings = Settings(data=tmp_path)
    run = Run(Name("r000001"), {}, {TOPIC: "id"}, {TOPIC: Name("d")}, start, prefix=prefix)
    log = SimpleNamespace(end_offsets=lambda *_: Cut.of({"trades": {0: 100}}))
    monkeypatch.setattr(load, "kafka_admin", log)
    monkeypatch.setattr("flows.measure.load.runs.read_run", lambda *_: run)
    assert load.lag(settings, run.id) == lag
