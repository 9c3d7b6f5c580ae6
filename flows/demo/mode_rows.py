"""The two modes side by side, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flows.demo.both_modes import SECONDS, ModeFigures
from flows.measure.live_system import RATE
from infra.local.resource_usage import ResourceUsage


@dataclass(frozen=True)
class ModeRow:
    """One line of the comparison: what each mode needs, from how many events, queries or records, and what it is."""

    what: str
    first: str
    second: str
    n: str
    how: str


@dataclass(frozen=True)
class _Line:
    """How a line is made: ``text`` is empty for a mode that was not measured, ``n`` counts its samples by ``kind``."""

    what: str
    text: Callable[[ModeFigures], str]
    n: Callable[[ModeFigures], int]
    kind: str
    how: str


def rows(first: ModeFigures, second: ModeFigures) -> tuple[ModeRow, ...]:
    """The two modes side by side, numbers as text; a line that was not measured for both, both warm, is left out."""
    lines = (*_live_lines(), *_full_lines(), *_part_lines(first, second))
    return tuple(
        ModeRow(line.what, line.text(first), line.text(second), _n(line, first, second), line.how)
        for line in lines
        if line.text(first) and line.text(second)
    )


def _n(line: _Line, first: ModeFigures, second: ModeFigures) -> str:
    counts = [f"{line.n(mode):,}" for mode in (first, second)]
    return f"{' / '.join(dict.fromkeys(counts))} {line.kind}" if line.kind else ""


def _live_lines() -> Sequence[_Line]:
    def warm(text: Callable[[ModeFigures], str]) -> Callable[[ModeFigures], str]:
        return lambda mode: text(mode) if mode.is_warm else ""

    def events(mode: ModeFigures) -> int:
        return mode.freshness.samples

    flow = f"{SECONDS:.0f} s of {RATE:,.0f} trades a second"
    return (
        _Line("freshness, p50", warm(lambda m: f"{m.freshness.p50:.2f} s"), events, "events", flow),
        _Line("freshness, p99", warm(lambda m: f"{m.freshness.p99:.2f} s"), events, "events", "the same"),
        _Line(
            "latency, p50",
            warm(lambda m: f"{m.latency:.2f} s"),
            lambda m: m.queries,
            "queries",
            "windows of one ticker in 5 minutes, while trades flow",
        ),
        _Line(
            "live: CPU s per million",
            warm(lambda m: _cpu(m.live, m.live_records)),
            lambda m: m.live_records,
            "records",
            f"the speed process, {flow}",
        ),
        _Line(
            "live: MB per million",
            warm(lambda m: _mb(m.live, m.live_records)),
            lambda m: m.live_records,
            "records",
            "written to disk by the speed process, without batches",
        ),
    )


def _full_lines() -> Sequence[_Line]:
    """Both full computations run in a process that starts for them: neither is warmer than the other."""

    def records(mode: ModeFigures) -> int:
        return mode.rebuilt.records

    return (
        _Line(
            "full computation: start-up",
            lambda m: f"{m.rebuilt.start_up:.1f} s",
            lambda _: 1,
            "start",
            "until it reads: processes, JVM, session; of `lk batch`, of `lk replay start`",
        ),
        _Line(
            "full computation: rate after that",
            lambda m: f"{m.rebuilt.rate:,.0f}/s",
            records,
            "records",
            "all views, while trades flow: landing and building; the big epochs of a replay",
        ),
        _Line(
            "full computation: whole command",
            lambda m: f"{m.rebuilt.seconds:.0f} s",
            records,
            "records",
            "until `lk batch` has published, or the replay has caught up",
        ),
        _Line(
            "full computation: CPU s per million",
            lambda m: _cpu(m.rebuilt.usage, m.rebuilt.records),
            records,
            "records",
            "user and system time of the process and its children, start-up included",
        ),
        _Line(
            "full computation: MB per million",
            lambda m: _mb(m.rebuilt.usage, m.rebuilt.records),
            records,
            "records",
            "written to disk by the same processes",
        ),
        _Line(
            "disk used",
            lambda m: f"{m.disk / 10**6:.0f} MB",
            lambda m: m.log_records,
            "records",
            "lambda: archive, build and run; kappa: its run; without the log, which both need",
        ),
    )


def _part_lines(first: ModeFigures, second: ModeFigures) -> Sequence[_Line]:
    def counted(what: str, names: Callable[[ModeFigures], Sequence[str]]) -> _Line:
        how = "; ".join(f"{mode.name}: {', '.join(names(mode)) or 'none'}" for mode in (first, second))
        return _Line(what, lambda mode: f"{len(names(mode))}", lambda _: 0, "", how)

    return (
        counted("processes that must run", lambda m: m.processes),
        counted("jobs to schedule", lambda m: m.jobs),
        counted("tables read by a query", lambda m: m.tables),
    )


def _cpu(usage: ResourceUsage, records: int) -> str:
    """Empty where nothing was measured."""
    return f"{usage.cpu * 10**6 / records:,.0f}" if records and usage.cpu else ""


def _mb(usage: ResourceUsage, records: int) -> str:
    """Empty where the OS does not count what a process writes."""
    return f"{usage.written / records:,.0f}" if records and usage.written else ""
