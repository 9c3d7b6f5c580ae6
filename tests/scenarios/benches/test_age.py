"""`lk bench age` with some thousand epochs: every figure is measured, and a bound that is missed is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.bench.age import age_figures, beside
from tests.support.command import here, write_config

FIGURES = {
    "epoch",
    "epoch aged",
    "epoch fresh",
    "query",
    "query aged",
    "query fresh",
    "claim",
    "claim aged",
    "claim fresh",
    "status",
    "status fresh",
    "status memory",
    "status memory fresh",
    "publish",
    "publish fresh",
    "publish memory",
    "publish memory fresh",
    "quarantine",
    "quarantine fresh",
    "quarantine memory",
    "quarantine memory fresh",
    "memory",
    "memory aged",
    "memory fresh",
    "open files",
    "open files aged",
    "open files fresh",
    "files",
    "files fresh",
    "fold",
    "fold aged",
    "fold fresh",
}


@pytest.mark.timeout(1500)
def test_a_small_age_is_measured_and_a_missed_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are wide, as steps of milliseconds vary; but for that of `lk status`, which nothing can meet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(beside, "RATIO", 10.0)
    monkeypatch.setattr(age_figures, "ON_DISK", 100.0)
    monkeypatch.setattr(age_figures, "PUBLISH_SECONDS", 60.0)
    monkeypatch.setattr(age_figures, "STATUS_SECONDS", 0.001)
    monkeypatch.setattr(age_figures, "WARM", 5.0)
    bench = here(write_config(tmp_path / "lk.toml", {}), "bench", "age", "--epochs", "7000", "--repeat", "1")
    rows = {match[1]: match[0] for match in re.finditer(r"^ *age (\w+(?: \w+)*)  .*$", bench.out, re.M)}
    assert rows.keys() == FIGURES, bench.said
    assert [name for name, row in rows.items() if "missed" in row] == ["status"], bench.said
    assert bench.code == 1
    assert not list(tmp_path.glob(".bench*")), "instances are removed"
