"""Runs whose process looks silent are watched together: each is watched for half a lease."""

from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from core.identifiers import Name
from infra.lake import leases
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings
from serving import served_status
from tests.support.records.control_rows import PIN

RUNS = [Name(f"r00000{number}") for number in range(1, 5)]


def test_silent_runs_are_watched_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = Barrier(len(RUNS), timeout=30)

    def watched(settings: Settings, name: str) -> ProcessIdentity | None:
        together.wait()
        return ProcessIdentity.current() if name == "run_r000003" else None

    monkeypatch.setattr(leases, "living_holder", watched)
    pins = {Name(f"view_{run}"): replace(PIN, run=run) for run in RUNS}
    assert served_status._stopped_runs(Settings(data=tmp_path), pins) == [
        f"no speed process drives run {run}: `lk speed start` starts one" for run in ("r000001", "r000002", "r000004")
    ]
