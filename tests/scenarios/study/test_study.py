"""`lk study` with a short history: both modes are measured, exact, and an interrupted study goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.evidence.measurement import Measurement
from flows.study import machine
from infra import measurement_files
from tests.support.command import here, write_config

pytestmark = pytest.mark.slow
SECTIONS = ("resources", "queries", "correction", "operations", "correctness")


def values(rows: list[Measurement], question: str, mode: str, **where: str) -> list[float]:
    """The measured values of a question in a mode."""
    return [
        row.value
        for row in rows
        if (row.question, row.mode) == (question, mode)
        and all(getattr(row, name) == is_ for name, is_ in where.items())
    ]


@pytest.mark.timeout(1800)
def test_a_short_study_measures_both_modes_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "_BUSY", 1.0)  # other tests run beside it
    config = write_config(tmp_path / "lk.toml", {})
    arguments = ("study", "--sizes", "0.02", "--repeat", "1", "--json", *SECTIONS)
    done = here(config, *arguments).ok()
    assert (done.json["sections"], done.json["measured"]) == (10, 10)
    rows = measurement_files.read(tmp_path / ".study")
    for mode in ("lambda", "kappa"):
        assert values(rows, "records-lost", mode) == [0.0, 0.0]
        assert values(rows, "records-twice", mode) == [0.0, 0.0]
        assert set(values(rows, "mode-cells", mode)) == {0.0}
        assert values(rows, "right-answers", mode) == [1.0]
        (total,) = values(rows, "correction", mode, situation="whole history", part="in all")
        parts = [
            row
            for row in rows
            if (row.question, row.mode, row.situation) == ("correction", mode, "whole history") and row.part != "in all"
        ]
        assert sum(row.value for row in parts) == pytest.approx(total)
        assert min(row.value for row in parts) >= 0, parts
    assert set(values(rows, "replay-cells", "kappa")) == {0.0}
    # All that the planner needs was measured, except what the section freshness measures.
    planned = here(config, "plan", "--study", ".study", "--json")
    assert (planned.code, planned.json["fix"]) == (1, "measure it: `lk study freshness`")
    (kept, *_) = sorted((tmp_path / ".study" / "rows").iterdir())
    before = kept.stat().st_mtime_ns
    again = here(config, *arguments).ok()
    assert (again.json["measured"], kept.stat().st_mtime_ns) == (0, before)
