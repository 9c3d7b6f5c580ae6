"""The tables of docs/deploy/sizing.md follow from docs/figures.md and from the assumptions that the page names."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

from infra.project_files import ROOT

LOADS = (10_000, 1_000_000, 10_000_000)
Sized = dict[str, list[str]]


def rows(text: str) -> dict[str, list[str]]:
    """First cell of every table row -> the other cells."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {first.strip("*`"): rest for first, *rest in cells}


def number(text: str) -> Fraction:
    digits = re.match(r"[\d.,]+", text)
    assert digits, text
    return Fraction(digits[0].replace(",", ""))


def sized(measured: dict[str, Fraction], assumed: dict[str, Fraction]) -> Sized:
    """The resources that each load needs, by the formulas of the page."""
    cores = assumed["cores measured on"]
    per_core = {name: value / cores for name, value in measured.items()}
    plan = per_core["replay"] / assumed["headroom"]
    queries = (assumed["queries small"], assumed["queries middle"], assumed["queries large"])
    table: Sized = {}

    def row(name: str, *values: Fraction | int) -> None:
        table[name] = [f"{ceil(value):,}" for value in values]

    speed = [ceil(n / plan) for n in LOADS]
    batch = [ceil(n * 3600 / assumed["landing takes"] / per_core["land"]) for n in LOADS]
    written = [n * assumed["bytes of a record"] * assumed["replicas"] for n in LOADS]
    busy = measured["query"] * cores
    row("speed cores", *speed)
    row("speed executors", *(Fraction(c) / assumed["cores of an executor"] for c in speed))
    row("partitions", *(max(6, 2 * c) for c in speed))
    row("batch cores", *batch)
    row("batch executors", *(Fraction(c) / assumed["cores of an executor"] for c in batch))
    month = [n * 86_400 * 30 for n in LOADS]
    built = per_core["build trade_stats"]
    row("hours of a full build of 30 days", *(m / (c * built) / 3600 for m, c in zip(month, batch, strict=True)))
    row("cores that replay 30 days in one", *(m / per_core["replay"] / 86_400 for m in month))
    row("GB written a day", *(w * 86_400 / 10**9 for w in written))
    row("brokers", *(max(Fraction(3), w / (assumed["MB/s of a broker"] * 10**6)) for w in written))
    busy_cores_of_worker = assumed["cores of a worker"] * assumed["load of a worker"]
    row("Trino workers", *(max(Fraction(2), q * busy / busy_cores_of_worker) for q in queries))
    return table


def test_every_number_of_the_table_follows_from_figures_and_assumptions() -> None:
    page = rows((ROOT / "docs" / "deploy" / "sizing.md").read_text("utf-8"))
    figures = rows((ROOT / "docs" / "figures.md").read_text("utf-8"))
    used = ("replay", "land", "build trade_stats", "query")
    measured = {name: number(figures[name][2]) for name in used}
    assert {name: number(page[name][0]) for name in used} == measured
    assumed = {name: number(cells[0]) for name, cells in page.items() if len(cells) == 2 and cells[0][:1].isdigit()}
    expected = sized(measured, assumed)
    assert {name: page[name][:3] for name in expected} == expected
