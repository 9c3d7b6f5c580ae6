"""`lk bench growth` with small logs: replays on threads and on two Spark workers are measured and drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.bench.growth import growth_cases
from flows.bench.growth.growth_cases import GrowthCase
from tests.support.command import here, write_config

FIGURES = ["growth: partitions 1", "growth: views 3", "growth: Spark workers that share two cores 2"]


@pytest.mark.timeout(900)
def test_replays_that_differ_in_one_thing_are_measured_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(growth_cases, "BASE", GrowthCase(total=60_000))
    for dimension in list(growth_cases.VALUES):
        monkeypatch.delitem(growth_cases.VALUES, dimension)
    for dimension, values in {"partitions": (1,), "views": (3,), "workers": (2,)}.items():
        monkeypatch.setitem(growth_cases.VALUES, dimension, values)
    bench = here(write_config(tmp_path / "lk.toml", {}), "bench", "growth", "--repeat", "1", "--write", "figures.md")
    assert bench.code == 0, bench.said
    page = Path("figures.md").read_text("utf-8")
    rows = re.findall(r"^\| (growth: [^|,]+) \| records replayed \|  \| ([0-9,]+) \|", page, re.MULTILINE)
    assert [name for name, _ in rows] == FIGURES
    assert all(int(rate.replace(",", "")) > 1_000 for _, rate in rows)
    assert "Spark workers that share two cores 2: " in Path("growth.svg").read_text("utf-8")
