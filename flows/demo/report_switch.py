"""The tables of the demo's second half: the switch to Kappa and back."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from flows.demo.both_modes import WARM_AFTER
from flows.demo.mode_rows import rows
from flows.demo.readers import AT_ONCE, QUICK, SLOW
from flows.demo.switch_modes import DemoSwitches
from flows.measure.console import mark, plain_table, with_text

FRESHNESS = "freshness: time from when an event is due to be sent until a query that counts it has answered"
_LATENCY = "latency: time from when a query is due until its answer has arrived"
_PAUSE = "pause: longest time from one answer to the next, of all readers together"


def parts(switches: DemoSwitches) -> Iterable[tuple[str, RenderableType]]:
    """Pairs of a title and its table."""
    yield "The switch to Kappa and back, while 1,000 trades a second flow and readers query", _steps(switches)
    yield "The proof: every view of the replay compared with a full build at the same offsets", _proof(switches)
    yield "Answers to the readers", _readers(switches)
    yield "Lambda and Kappa side by side, measured in this demo", _modes(switches)


def _steps(switches: DemoSwitches) -> RenderableType:
    replay, table = switches.replay, with_text("step", "time", "")
    times = replay.rebuilt
    ratio = f"{times.rate:,.0f} records/s, {times.rate / switches.raw:.2f} of a raw consumer's {switches.raw:,.0f}"
    read = f"{times.records:,} records from offset 0; run and consumer group {replay.run}"
    started = f"{times.start_up:.1f} s of start-up, then {ratio}"
    lag = f"its run had a lag of {switches.behind:,} records" if switches.behind else "its run had no lag"
    table.add_row("replay, until caught up", _seconds(times.seconds), f"{read}; {started}")
    table.add_row(
        "proof", _seconds(switches.proof_seconds), "starting Spark; landing, building and comparing every view"
    )
    table.add_row(
        "promotion", _seconds(switches.promotion_seconds), "from the end of the last comparison until Kappa serves"
    )
    table.add_row("rollback", _seconds(switches.rollback_seconds), f"the whole command; Lambda serves again, {lag}")
    return table


def _proof(switches: DemoSwitches) -> RenderableType:
    table = plain_table(
        "view", "keys", "only in build", "only in replay", "repeated", "different cells", "same hash in Trino", ""
    )
    for view in switches.proof:
        counts = (view.keys, view.only_build, view.only_run, view.repeated, view.cells)
        table.add_row(view.view, *(f"{count:,}" for count in counts), "yes" if view.trino else "no", mark(view.equal))
    total = sum(view.differences for view in switches.proof)
    epoch = switches.proof[0].epoch
    text = f"{total:,} differences, up to epoch {epoch} of the replay; stored in lake.control.comparisons"
    return Group(table, Text(text, style="dim"))


def _readers(switches: DemoSwitches) -> RenderableType:
    readers = switches.readers
    modes = [f"from {mode}" for mode in readers.modes]
    table = plain_table("answers", *modes, "errors", "pause", "latency p50", "slowest", "", left=0)
    times = (f"{seconds:.2f} s" for seconds in (readers.pause, readers.p50, readers.slowest))
    counts = (f"{count:,}" for count in readers.modes.values())
    table.add_row(f"{readers.answers:,}", *counts, f"{len(readers.errors):,}", *times, mark(not readers.errors))
    text = (
        f"Readers count the trades every {1 / SLOW:.0f} s, {QUICK:.0f} times a second around each change.\n"
        f"At most {AT_ONCE} queries run at once.\n"
        "Every answer must be the exact count at the end of an epoch. No count may go back before the rollback.\n"
        "The query after a change must see it.\n"
        f"{_PAUSE}\n{_LATENCY}"
    )
    errors = [Text(error, style="red") for error in readers.errors[:5]]
    return Group(table, *errors, Text(text, style="dim"))


def _modes(switches: DemoSwitches) -> RenderableType:
    first, second = switches.modes
    table = with_text("", first.name, second.name, "n", "measured", left=1)
    for row in rows(first, second):
        table.add_row(row.what, row.first, row.second, row.n, row.how)
    text = (
        f"n: events, queries or records that were measured, of {first.name} / of {second.name}\n"
        f"{FRESHNESS}\n{_LATENCY}\n"
        f"Freshness, latency and live work are those of speed processes that had run for {WARM_AFTER:.0f} s or more. "
        "A row that was not measured for both modes is left out"
    )
    return Group(table, Text(text, style="dim"))


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s"
