"""What the page shows as one JSON document of texts: every page gets the same bytes, and a browser only places them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from core.evidence.quantity import mebibytes
from core.identifiers import Name
from core.positions import LogPartition
from core.safe_text import one_line, several_lines, shortened
from flows.live_page import words
from flows.live_page.partition_lags import partition_lags
from flows.live_page.picture import picture_states, picture_summary, picture_texts
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.snapshot import GateState, Snapshot

Row = tuple[str, ...]
_MOST_ROWS = 200  # of a table of the page: an instance may have thousands of partitions
_MOST_LINES = 100
_NO_CELLS = ("",) * 8  # of a view that is not served: all after its name and its mode
_LONGEST_CELL = 300


@dataclass(frozen=True)
class Table:
    """Rows of text. ``bad`` are the numbers of the rows that say that something is wrong."""

    rows: tuple[Row, ...]
    bad: tuple[int, ...] = ()
    left_out: int = 0


def page_document(snapshot: Snapshot, samples: RecentSamples) -> dict[str, Any]:
    """The texts of the page by element id, its tables, and the last sample of the charts."""
    texts = picture_texts(snapshot, samples)
    last = samples.samples[-1] if samples.samples else None
    return {
        "at": words.utc(snapshot.at),
        "unhealthy": _unhealthy(snapshot),
        "away": _away(snapshot),
        "summary": picture_summary(snapshot, samples),
        "texts": texts,
        "states": picture_states(snapshot),
        "tables": {name: _bounded(rows) for name, rows in _tables(snapshot, samples).items()},
        "quality": _quality(snapshot.gate.value),
        "sample": last,
        "marks": samples.marks,
    }


def _unhealthy(snapshot: Snapshot) -> tuple[str, ...]:
    lines = tuple(map(one_line, snapshot.unhealthy))
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else (*lines[:_MOST_LINES], f"and {more} more: `lk status`")


def _away(snapshot: Snapshot) -> list[str]:
    """A line for each part that could not be read: what it is, why, and how old what the page shows of it is."""
    return [
        one_line(f"{name}: {reading.problem}; ")
        + (f"shown as of {words.utc(reading.at)}" if reading.at else "nothing to show yet")
        for name, reading in snapshot.readings.items()
        if reading.problem and not reading.is_awaited
    ]


def _bounded(lines: Iterable[tuple[bool, Row]]) -> Table:
    """The first rows; of more than the page shows, first those that say that something is wrong."""
    every = list(lines)
    ranked = sorted(every, key=lambda line: not line[0]) if len(every) > _MOST_ROWS else every
    shown = ranked[:_MOST_ROWS]
    bad = tuple(number for number, (is_bad, _) in enumerate(shown) if is_bad)
    rows = tuple(tuple(several_lines(shortened(cell, _LONGEST_CELL)) for cell in row) for _, row in shown)
    return Table(rows, bad, len(every) - len(shown))


def _tables(snapshot: Snapshot, samples: RecentSamples) -> dict[str, Iterable[tuple[bool, Row]]]:
    return {
        "views": _views(snapshot, samples),
        "partitions": _partitions(snapshot, samples),
        "processes": _processes(snapshot),
        "runs": _runs(snapshot, samples),
        "ledger": _ledger(snapshot),
        "rows": _view_rows(snapshot),
        "quarantine": _quarantine(snapshot),
        "gate": _gate(snapshot),
        "replay": _replay(snapshot),
        "routes": _routes(snapshot),
        "publications": _publications(snapshot),
        "leases": _leases(snapshot),
        "sizes": _sizes(snapshot),
    }


def _views(snapshot: Snapshot, samples: RecentSamples) -> Iterable[tuple[bool, Row]]:
    waiting = samples.waiting(snapshot)
    missing = snapshot.served.value.missing if snapshot.served.value else ()
    for view in snapshot.status.value.views if snapshot.status.value else ():
        yield (
            view.view in missing,
            (
                view.view,
                view.mode,
                view.build or "",
                view.run or "",
                str(view.epoch),
                words.count(view.lag),
                words.seconds(waiting.get(view.view)),
                words.seconds(view.age),
                str(view.publication),
                words.count(view.cut.size),
            ),
        )
    yield from ((False, (name, "not served", *_NO_CELLS)) for name in _not_served(snapshot))


def _not_served(snapshot: Snapshot) -> Iterable[Name]:
    """The views that are defined and that nothing serves yet; each has a page."""
    if snapshot.status.value is None:
        return ()
    served = {view.view for view in snapshot.status.value.views}
    return (view.view for view in snapshot.views.value or () if view.view not in served)


def _partitions(snapshot: Snapshot, samples: RecentSamples) -> Iterable[tuple[bool, Row]]:
    """The partitions in the order of Kafka; of more than the page shows, first those that are furthest behind."""
    rates, lags = samples.topic_rates(), partition_lags(snapshot)
    ranked = sorted(lags, key=lambda line: -1 if line[1] is None else line[1], reverse=True)
    for part, lag in lags if len(lags) <= _MOST_ROWS else ranked:
        rate = rates.get(LogPartition(part.topic, part.partition))
        row = (part.topic, str(part.partition), words.count(part.start), words.count(part.end))
        yield False, (*row, words.rate(rate), words.count(lag))


def _processes(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for process in snapshot.process_states:
        memory = mebibytes(process.memory) if process.memory else ""
        pid = "" if process.pid is None else str(process.pid)
        yield process.status != "up", (process.name, process.status, pid, process.address, memory)


def _runs(snapshot: Snapshot, samples: RecentSamples) -> Iterable[tuple[bool, Row]]:
    rates = samples.run_rates()
    for live in snapshot.runs.value or ():
        state = live.state
        committed = words.utc(live.last.committed_at) if live.last else "no epoch yet"
        yield (
            live.role in ("serving", "replay") and not state.alive,
            (
                live.run.id,
                live.role,
                live.run.kind,
                state.phase if state.alive else f"{state.phase} (no process)",
                str(state.epoch) if state.epoch >= 0 else "",
                committed,
                words.rate(rates[live.run.id]) if live.run.id in rates else "",
                words.count(state.behind),
            ),
        )


def _ledger(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for counts in snapshot.status.value.partitions if snapshot.status.value else ():
        numbers = (counts.offsets, counts.decoded, counts.quarantined)
        difference = 0 if counts.ok else counts.offsets - counts.decoded - counts.quarantined
        row = (counts.topic, str(counts.partition), *map(words.count, numbers), words.count(difference))
        yield not counts.ok, row


def _view_rows(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for rows in snapshot.status.value.rows if snapshot.status.value else ():
        difference = rows.served - rows.counted
        row = (rows.view, words.count(rows.counted), words.count(rows.served), words.count(difference))
        yield not rows.ok, row


def _quarantine(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    exceeded = {share.topic for share in snapshot.status.value.shares} if snapshot.status.value else set()
    for rule in snapshot.quarantine.value or ():
        for number, entry in enumerate(rule.examples):
            of_rule = (rule.topic, rule.rule, f"{rule.records:,} of {rule.looked_at:,}") if number == 0 else ("",) * 3
            yield rule.topic in exceeded, (*of_rule, str(entry.position), entry.text)


def _quality(gate: GateState | None) -> str:
    """The address of the Data Docs of the build that was checked last; "" without any."""
    return f"/quality/{gate.build}/index.html" if gate and gate.has_pages else ""


def _gate(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    gate = snapshot.gate.value
    for result in gate.results if gate else ():
        outcome = "passed" if result.success else ("warning" if result.severity == "warning" else "failed")
        row = (result.build, result.view, result.check, outcome, result.observed or "", result.bound)
        yield outcome == "failed", (*row, result.exception or result.examples)


def _replay(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for live in snapshot.runs.value or ():
        if live.role == "replay" and live.progress is not None:
            progress = live.progress
            limit = "none" if progress.limit is None else words.rate(progress.limit)
            left = "none" if progress.caught_up else words.seconds(progress.left)
            row = (live.run.id, words.count(progress.read), words.count(progress.total), words.rate(progress.rate))
            yield not live.state.alive, (*row, limit, left, "yes" if progress.caught_up else "no")


def _routes(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for route in snapshot.routes.value or ():
        yield not route.exact, (route.line,)


def _publications(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for change in reversed(snapshot.lake.value.changes if snapshot.lake.value else ()):
        modes = ", ".join(sorted({pin.mode for pin in change.pins.values()}))
        row = (str(change.seq), words.utc(change.at), change.kind, change.state, modes, change.who, change.why)
        yield change.state != "done", row


def _leases(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for lease in snapshot.lake.value.leases if snapshot.lake.value else ():
        yield lease.state == "abandoned", (lease.name, lease.state, str(lease.holder), words.utc(lease.since))


def _sizes(snapshot: Snapshot) -> Iterable[tuple[bool, Row]]:
    for part, size in (snapshot.sizes.value or {}).items():
        yield False, (part, mebibytes(size))
