"""Compares every table and view of an instance with the oracle. Compares lists, so that a repeated row fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.cut import Cut
from core.identifiers import Name
from core.view import ROWS, View
from infra.control import runs
from infra.control.claims import claim_of
from infra.control.manifest import last_epoch
from infra.control.run_endings import read_endings
from serving.served_status import served_status
from tests.support.oracle import view_oracle
from tests.support.oracle.view_oracle import Record
from tests.support.records.kafka_log import Ends, Log
from tests.support.records.pieces import Pieces, QuarantineRow, Row, in_order, measured, position, shown

COPIES = {"trade_stats": 5}  # the number of windows that contain one event


def check(pieces: Pieces, log: Log, *, live: bool = True) -> None:
    """Fails unless every view, build, speed table, quarantine and archive equals the oracle's rows of the log.

    With ``live`` a run must have committed the whole log. Without it, views must show the log up to the last build.
    """
    served = pieces.served()
    assert sorted(served) == sorted(pieces.catalog.views)
    for name, view in pieces.catalog.views.items():
        pin = served[name]
        cut = ends(claim_of(pieces.settings, pin.build).cut) if pin.build else {}
        visible = log.records if live else log.below(cut)
        same(f"serving.{name}", pieces.merged(view), expected(view, visible, shown(view)))
        if pin.build:
            below = expected(view, log.below(cut), measured(view))
            same(f"batch.{name}__{pin.build}", pieces.batch(view, pin.build), below)
        if pin.run and live:
            above = expected(view, log.since(cut), measured(view))
            same(f"speed.{name}__{pin.run} after {pin.epoch}", pieces.speed(view, pin.run, pin.epoch), above)
    check_quarantine(pieces, log)
    check_archive(pieces, log)


def check_status(pieces: Pieces, log: Log) -> None:
    """Fails unless `lk status` counts exactly the records of the log and reports every check as healthy."""
    status = served_status(pieces.settings, pieces.catalog)
    assert status.unhealthy == (), status.unhealthy
    assert [view.lag for view in status.views] == [0] * len(pieces.catalog.views)
    counted = [
        (str(line.topic), line.partition, line.offsets, line.decoded, line.quarantined) for line in status.partitions
    ]
    assert counted == _counted(log)
    rows = [(str(line.view), line.served, line.counted) for line in status.rows]
    assert rows == [(name, n, n) for name, n in ((n, _view_rows(n, log.records)) for n in sorted(view_oracle.VIEWS))]


def check_quarantine(pieces: Pieces, log: Log) -> None:
    """Fails unless each run's quarantine and the archive hold every invalid record that they read exactly once."""
    for run in living(pieces):
        last = last_epoch(pieces.settings, run.id)
        read_records = [r for r in log.since(ends(run.start)) if _before(r, ends(last.end) if last else {})]
        same(f"quarantine of {run.id}", pieces.quarantined_by_speed(run.id), bad(log, read_records))
    archived = [r for topic in pieces.catalog.topics for r in log.below(_archive_ends(pieces, topic))]
    same("quarantine of the archive", pieces.quarantined_by_batch(), bad(log, archived))


def check_archive(pieces: Pieces, log: Log) -> None:
    """Fails unless the archive holds every record below its end exactly once, byte for byte."""
    for topic in pieces.catalog.topics:
        archived = [r for r in log.below(_archive_ends(pieces, topic)) if r.topic == topic]
        expected_rows = [(r.partition, r.offset, r.key, r.value) for r in archived]
        same(f"archive.{topic}", pieces.archived(topic), expected_rows)


def check_commits(pieces: Pieces) -> None:
    """Fails if an epoch was committed twice to a table of a run."""
    for run in living(pieces):
        for view in run.views:
            epochs = pieces.commits(run.id, view)
            assert epochs == sorted(set(epochs)), f"{run.id}/{view}: {epochs}"


def living(pieces: Pieces) -> list[runs.Run]:
    """The runs that have not ended. The tables of an ended run are deleted."""
    endings = read_endings(pieces.settings)
    return [run for run in runs.read_runs(pieces.settings) if run.id not in endings]


def whole(pieces: Pieces, log: Log, marks: Sequence[Ends]) -> list[int]:
    """For each view, the index of the last mark whose log prefix gives the shown rows. Fails if no mark matches."""
    shown_marks = []
    for view in pieces.catalog.views.values():
        rows = pieces.merged(view)
        matching = [n for n, mark in enumerate(marks) if rows == expected(view, log.below(mark), shown(view))]
        assert matching, f"{view.name} shows no whole number of what was sent"
        shown_marks.append(matching[-1])
    return shown_marks


def expected(view: View, records: Sequence[Record], columns: Sequence[str]) -> list[Row]:
    """The oracle's rows with these columns, sorted. The hidden count is the number of events of the row."""
    keys = [column.name for column in view.identifying_columns]
    counted = next(c.name for c in view.stored_columns if c.name in ("trades", "requests"))
    rows = []
    for key, cells in view_oracle.expected(view.name, records).items():
        row: dict[str, Any] = {**dict(zip(keys, key, strict=True)), **cells, ROWS: cells[counted]}
        rows.append(tuple(row[column] for column in columns))
    return in_order(rows)


def bad(log: Log, records: Sequence[Record]) -> list[QuarantineRow]:
    """The expected quarantine rows of these records, sorted by position."""
    rows = []
    for r in records:
        rule = view_oracle.decode_record(r.topic, r)
        if isinstance(rule, str):
            headers = log.headers[r.topic, r.partition, r.offset]
            rows.append(QuarantineRow(r.topic, r.partition, r.offset, r.key, r.value, headers, rule))
    return sorted(rows, key=position)


def same(what: str, actual: Sequence[Any], expected: Sequence[Any]) -> None:
    """Fails if the rows differ. The message has the row counts and the first three differences."""
    if list(actual) == list(expected):
        return
    pairs = [(a, e) for a, e in zip(actual, expected, strict=False) if a != e]
    first = "\n".join(f"  actual   {str(a)[:400]}\n  expected {str(e)[:400]}" for a, e in pairs[:3])
    raise AssertionError(f"{what}: {len(actual)} rows, expected {len(expected)}\n{first}")


def ends(cut: Cut) -> Ends:
    """A cut as the end offset of each (topic, partition)."""
    return {(str(topic), partition): end for topic, partition, end in cut.ends}


def _archive_ends(pieces: Pieces, topic: Name) -> Ends:
    """The end offset of each archived partition, from the last archived record."""
    archive_ends: Ends = {}
    for partition, offset, _, _ in pieces.archived(topic):
        archive_ends[topic, partition] = offset + 1
    return archive_ends


def _before(record: Record, end: Ends) -> bool:
    return record.offset < end.get((record.topic, record.partition), 0)


def _view_rows(view: str, records: Sequence[Record]) -> int:
    topic = "trades" if view.startswith("trade") else "access_log"
    return len(view_oracle.events(r for r in records if r.topic == topic)) * COPIES.get(view, 1)


def _counted(log: Log) -> list[tuple[str, int, int, int, int]]:
    lines = []
    for (topic, partition), end in sorted(log.ends.items()):
        records = [r for r in log.records if (r.topic, r.partition) == (topic, partition)]
        bad_count = len(view_oracle.quarantined(records))
        lines += [(topic, partition, end, len(records) - bad_count, bad_count)] if end else []
    return lines
