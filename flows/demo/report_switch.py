"""The demo's second half as a person enjoys reading it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from flows.demo.both_modes import rows
from flows.demo.readers import QUICK, SLOW
from flows.demo.switch_modes import DemoSwitches
from flows.measure.tables import bare, mark, told


def parts(found: DemoSwitches) -> Iterable[tuple[str, RenderableType]]:
    """Titles and what is below them."""
    yield "To Kappa and back, while 1,000 trades a second flow and readers ask", _steps(found)
    yield "The proof: every view of the replay against a full build at the same offsets", _proof(found)
    yield "What the readers saw", _readers(found)
    yield "Two modes side by side, measured in this run", _modes(found)


def _steps(found: DemoSwitches) -> RenderableType:
    replay, drawn = found.replay, told("step", "time", "")
    ratio = f"{replay.rate:,.0f} records/s, {replay.rate / found.raw:.2f} of the raw consumer's {found.raw:,.0f}"
    read = f"{replay.rebuilt.records:,} records from offset zero; run and consumer group {replay.run}; {ratio}"
    behind = f"its run went on, and was {found.behind:,} records behind" if found.behind else "its run went on"
    drawn.add_row("replay, until caught up", _seconds(replay.rebuilt.seconds), read)
    drawn.add_row("proof", _seconds(found.proof_seconds), "land, build and compare every view, with Spark's start")
    drawn.add_row("promotion", _seconds(found.promotion_seconds), "from the last comparison until Kappa serves")
    drawn.add_row("rollback", _seconds(found.rollback_seconds), f"the whole command; Lambda serves again: {behind}")
    return drawn


def _proof(found: DemoSwitches) -> RenderableType:
    drawn = bare("view", "keys", "only in build", "only in replay", "twice", "cells that differ", "Trino agrees", "")
    for one in found.proof:
        counts = (one.keys, one.only_build, one.only_run, one.repeated, one.cells)
        drawn.add_row(one.view, *(f"{count:,}" for count in counts), "yes" if one.trino else "no", mark(one.equal))
    total = sum(one.differences for one in found.proof)
    how = f"{total:,} differences, up to epoch {found.proof[0].epoch} of the replay; kept in lake.control.comparisons"
    return Group(drawn, Text(how, style="dim"))


def _readers(found: DemoSwitches) -> RenderableType:
    seen = found.readers
    modes = [f"from {mode}" for mode in seen.modes]
    drawn = bare("answers", *modes, "errors", "longest pause", "p50", "slowest", "", left=0)
    times = (f"{seconds:.2f} s" for seconds in (seen.pause, seen.p50, seen.slowest))
    counts = (f"{count:,}" for count in seen.modes.values())
    drawn.add_row(f"{seen.answers:,}", *counts, f"{len(seen.errors):,}", *times, mark(not seen.errors))
    how = (
        f"{SLOW:.0f} questions a second, {QUICK:.0f} around each change: how many trades are there? Every answer must\n"
        "be the exact count at the end of one epoch, none may go back before the rollback, and the next question\n"
        "must see a change; the longest pause is the longest time without an answer"
    )
    errors = [Text(error, style="red") for error in seen.errors[:5]]
    return Group(drawn, *errors, Text(how, style="dim"))


def _modes(found: DemoSwitches) -> RenderableType:
    first, second = found.modes
    drawn = told("", first.name, second.name, "how it was measured")
    for row in rows(first, second):
        drawn.add_row(row.what, row.first, row.second, row.how)
    return drawn


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s"
