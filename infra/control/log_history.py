"""Checks that the log is the one that runs have read, or that an archive was landed from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_

import pyarrow.compute as pc

from core.cut import Cut
from core.errors import SERVED_STAYS, Refused
from core.identifiers import Name
from core.log_mark import LogMark, mark_of_row, marks_from_json
from core.positions import LogPartition
from infra.control import runs
from infra.control.epoch_search import last_epoch_where
from infra.control.manifest import Epoch, epoch_numbered, last_epoch
from infra.control.runs import Run
from infra.kafka import log_checks
from infra.kafka.log_marks import RecordReader, log_differs, other_records, record_reader
from infra.lake import delta
from infra.lake.archive import Archive, topic_archives
from infra.settings import Settings

_RECORD = ["_partition", "_offset", "_timestamp", "_key", "_value", "_headers"]


def require_log_of_history(settings: Settings, topic_ids: Mapping[Name, str], start: Cut, *, fix: str) -> None:
    """Raises Refused when a run from ``start`` would add to answers of another log: it has not read the log itself.

    The log must have the last records that the newest run has read of each topic, and those of its longest archive. A
    topic that was created again is another log; only a run from its offset 0 may read it.
    """
    for topic, topic_id in topic_ids.items():
        archives, run = topic_archives(settings, topic)[:1], last_marked_run(settings, topic)
        earlier = {archive.path: archive.topic_id for archive in archives if archive.topic_id}
        earlier |= {f"run {run.id}": run.topics[topic]} if run else {}
        if start.only([topic]).size:
            for where, earlier_id in earlier.items():
                log_checks.require_same_ids({topic: earlier_id}, {topic: topic_id}, where=where, fix=fix)
        for archive in archives:
            if archive.topic_id in (topic_id, None):
                require_log_of_archive(settings, archive, fix=fix)
        if run and run.topics[topic] == topic_id:
            _require_log_of_topic(settings, run.id, topic, fix)


def last_marked_run(settings: Settings, topic: Name) -> Run | None:
    """The newest run that knows the last records of a topic that it has read; a damaged run does not tell."""
    readers = (run for run in reversed(runs.read_runs(settings)) if topic in run.topics)
    return next((run for run in readers if any(of_topic == topic for of_topic, _ in _marks(settings, run))), None)


def _marks(settings: Settings, run: Run) -> Mapping[LogPartition, LogMark]:
    try:
        last = last_epoch(settings, run.id)
    except Refused:
        return {}
    return last.marks if last else {}


def _require_log_of_topic(settings: Settings, run: Name, topic: Name, fix: str) -> None:
    last = last_epoch(settings, run)
    assert last is not None, "the run has marks"
    require_no_lost_records_of_run(settings, run, last, [topic], fix=fix)
    require_log_of_run(settings, run, [topic], fix=fix)


def require_no_lost_records_of_run(
    settings: Settings, run: Name, last: Epoch, topics: Sequence[Name], *, fix: str
) -> None:
    """Raises Refused when the log ends before what the run has read: other records will get these offsets."""
    log_checks.require_no_lost_records(settings, topics, last.end, where=_where(run, last), fix=fix)


def require_log_of_run(settings: Settings, run: Name, topics: Collection[Name] | None = None, *, fix: str) -> None:
    """Raises Refused when the log has other records than those that the run read, with the first offset of them.

    It compares the last record of each partition, of these topics or of all, so it reads as many records as there are
    partitions. A run of an older program has no marks, and is not checked.
    """
    last = last_epoch(settings, run)
    if last is None or not last.marks:
        return
    marks = (
        last.marks
        if topics is None
        else {partition: m for partition, m in last.marks.items() if partition.topic in topics}
    )
    with record_reader(settings) as reader:
        if others := other_records(reader, marks):
            partitions = {
                partition: _first_other(settings, reader, run, partition, mark) for partition, mark in others.items()
            }
            raise log_differs(partitions, where=_where(run, last), fix=fix)


def _where(run: Name, last: Epoch) -> str:
    return f"run {run}, epoch {last.number}; {SERVED_STAYS}"


def _first_other(
    settings: Settings, reader: RecordReader, run: Name, partition: LogPartition, last: LogMark
) -> tuple[int, int]:
    """The first offset that may have another record, and the first of the epochs' marks that has one."""

    def is_same(mark: LogMark | None) -> bool:
        return mark is None or not other_records(reader, {partition: mark})

    same = last_epoch_where(settings, run, "marks", lambda text: is_same(marks_from_json(text).get(partition)))
    after = epoch_numbered(settings, run, same.number + 1 if same else 0)
    first = same.marks[partition].offset + 1 if same and partition in same.marks else 0
    return first, after.marks[partition].offset if after and partition in after.marks else last.offset


def require_log_of_archive(settings: Settings, archive: Archive, *, fix: str, ends: Cut | None = None) -> None:
    """Raises Refused when the log ends before the archive, or has other records, as ``require_same_records``."""
    log_checks.require_no_lost_records(settings, [archive.topic], archive.ends, where=archive.path, fix=fix)
    require_same_records(settings, archive, fix=fix, ends=ends)


def require_same_records(settings: Settings, archive: Archive, *, fix: str, ends: Cut | None = None) -> None:
    """Raises Refused when the log has other records than the archive, with the first offset of them.

    It compares the last record of each partition that both have; with ``ends``, the last one below these.
    """
    where = f"{archive.path}; {SERVED_STAYS}"
    with record_reader(settings) as reader:
        marks = _archived(archive, {partition: end - 1 for _, partition, end in (ends or archive.ends).ends})
        if others := other_records(reader, marks):
            firsts = {
                partition: _first_not_archived(reader, archive, partition, mark.offset)
                for partition, mark in others.items()
            }
            raise log_differs({partition: (first, first) for partition, first in firsts.items()}, where=where, fix=fix)


def _first_not_archived(reader: RecordReader, archive: Archive, partition: LogPartition, last: int) -> int:
    """The first offset at which the log has another record than the archive: a binary search."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if other_records(reader, _archived(archive, {partition.partition: middle})):
            high = middle
        else:
            low = middle + 1
    return low


def _archived(archive: Archive, offsets: Mapping[int, int]) -> dict[LogPartition, LogMark]:
    """The marks of archived records, from partition -> offset; offsets without a record are left out."""
    conditions = [(pc.field("_partition") == p) & (pc.field("_offset") == offset) for p, offset in offsets.items()]
    rows = delta.read(archive.path, _RECORD, reduce(or_, conditions)).to_pylist() if conditions else []
    return {LogPartition(archive.topic, row["_partition"]): mark_of_row(row) for row in rows}
