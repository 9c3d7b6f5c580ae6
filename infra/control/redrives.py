"""Table control.redrives: which repaired records were sent again, and where to look for them after a crash.

A redrive may name a million records: who asks for counts, or for a few records, makes no object of each.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.cut import Cut, latest_ends
from core.identifiers import Name
from core.positions import LogPartition
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake import damage, delta, large_rows
from infra.lake.leases import Lease
from infra.settings import Settings

TABLE = ControlTable(
    "redrives",
    pa.schema(
        {"seq": pa.int64(), "state": TEXT, "ends": TEXT, "origins": TEXT, "at": TIME, "who": TEXT} | {"counts": TEXT}
    ),
)
State = Literal["intent", "done"]
_DONE = pc.field("state") == "done"


@dataclass(frozen=True)
class Outline:
    """A redrive without its records. ``ends`` are the end offsets of their topics before."""

    seq: int
    state: State
    ends: Cut
    at: datetime


@dataclass(frozen=True)
class Redrive:
    """Records sent again: ``origins`` are topic/partition/offset -> fingerprint of the copy.

    ``ends`` are the end offsets of their topics before. What an ``intent`` has sent is in the log from there on.
    """

    seq: int
    state: State
    ends: Cut
    origins: Mapping[str, str]
    at: datetime
    who: str


def read_redrives(settings: Settings, some: Collection[int] | None = None) -> list[Redrive]:
    """Every redrive, or those of some numbers, in its newest state, oldest first."""
    where = None if some is None else pc.field("seq").isin(list(some))
    return [_redrive(row) for row in _newest(TABLE.read(settings, where=where))]


def outlines(settings: Settings) -> list[Outline]:
    """Every redrive in its newest state, oldest first, without its records."""
    rows = _newest(TABLE.read(settings, ("seq", "state", "ends", "at")))
    return [Outline(**{**row, "ends": Cut.parse(row["ends"])}) for row in rows]


def redrives_of_record(settings: Settings, position: str) -> list[Outline]:
    """The redrives whose newest state names a record, oldest first."""
    names_it = pc.match_substring(pc.field("origins"), f'"{position}": "')
    rows = {(row["seq"], row["state"]) for row in TABLE.read(settings, ("seq", "state"), names_it)}
    return [outline for outline in outlines(settings) if (outline.seq, outline.state) in rows]


def add_redrive(settings: Settings, lease: Lease, redrive: Redrive) -> None:
    """Writes a redrive in a new state, under the lease "redrives"."""
    counts = Counter(position.partition("/")[0] for position in redrive.origins)
    TABLE.append(settings, lease, as_row(redrive, origins=json.dumps(dict(redrive.origins)), counts=json.dumps(counts)))


def sent_origins(settings: Settings, positions: Collection[str] | None = None) -> dict[str, str]:
    """The origins of the copies that are in the log for certain, all or some of them, with their fingerprints."""
    chosen = None if positions is None else pa.array(positions, TEXT)
    rows: list[tuple[int, str, str]] = []
    for seq, texts in _sent_texts(settings):
        at = range(len(texts)) if chosen is None else pc.indices_nonzero(pc.is_in(texts, chosen)).to_pylist()
        rows += [(seq, texts[n].as_py(), texts[n + 1].as_py()) for n in at if n % 2 == 0]
    return {position: fingerprint for _, position, fingerprint in sorted(rows)}


def each_sent(settings: Settings) -> Iterator[str]:
    """The origins of the copies that are in the log for certain, one at a time."""
    for _, texts in _sent_texts(settings):
        yield from (texts[n].as_py() for n in range(0, len(texts), 2))


def sent_positions(settings: Settings, topic: Name) -> pa.Array:
    """The origins, in one topic, of the copies that are in the log for certain, as texts of Arrow."""
    chunks = [texts.filter(pc.starts_with(texts, f"{topic}/")) for _, texts in _sent_texts(settings)]
    return pa.chunked_array(chunks, TEXT).combine_chunks()


def sent_counts(settings: Settings) -> Counter[str]:
    """Topic -> how many of its records were sent again for certain."""
    rows = _newest(TABLE.read(settings, ("seq", "state", "ends", "counts")))
    rows = [row for row in rows if row["state"] == "done"]
    uncounted = {row["seq"]: Cut.parse(row["ends"]) for row in rows if row["counts"] is None}
    counts = Counter[str]()
    for row in rows:
        counts.update(json.loads(row["counts"] or "{}"))
    return counts + (_counted(settings, uncounted) if uncounted else Counter())


def sent_from(settings: Settings, start: Cut) -> Counter[str]:
    """Topic -> how many of its records from the offsets of ``start`` on were sent again for certain."""
    if not start.ends:
        return sent_counts(settings)
    counts = Counter[str]()
    later = [outline.seq for outline in outlines(settings) if not outline.ends <= start]
    for _, texts in _sent_texts(settings, pc.field("seq").isin(later)) if later else ():
        parts = pc.extract_regex(texts, r"^(?P<partition>[^/]+/\d+)/(?P<offset>\d+)$").drop_null()
        log_partitions, offsets = parts.field("partition"), parts.field("offset").cast(pa.int64())
        for log_partition in log_partitions.unique().to_pylist():
            topic, partition = LogPartition.parse(log_partition)
            is_later = pc.greater_equal(offsets, start.end(topic, partition))
            counts[topic] += pc.and_(pc.equal(log_partitions, log_partition), is_later).true_count
    return +counts


def _newest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last row of each redrive, oldest redrive first."""
    newest = {row["seq"]: row for row in sorted(rows, key=lambda row: row["state"] == "done")}
    return [newest[seq] for seq in sorted(newest)]


def _counted(settings: Settings, ends: Mapping[int, Cut]) -> Counter[str]:
    """The counts of rows of an older program, which stored none, from the texts of their origins."""
    counts = Counter[str]()
    texts = TABLE.read_arrow(settings, ("origins",), _DONE & pc.field("seq").isin(list(ends)))["origins"]
    for topic in latest_ends(ends.values()).topics:
        counts[topic] = pc.sum(pc.count_substring(texts, f'"{topic}/')).as_py() or 0
    return counts


def _sent_texts(settings: Settings, where: pc.Expression | None = None) -> Iterator[tuple[int, pa.Array]]:
    """Of each finished redrive its number and its texts: origin, fingerprint, origin, and so on."""
    path = TABLE.path(settings)
    if not delta.exists(path):
        damage.require_log_not_lost(path)
        return
    condition = _DONE if where is None else _DONE & where
    for row in large_rows.rows(path, ["seq", "state"], ["origins"], condition):
        inner = row["origins"][2:-2].replace('": "', '", "')  # neither text has a quote: `{"a": "b", "c": "d"}`
        yield row["seq"], pc.split_pattern(pa.array([inner], TEXT), '", "').flatten() if inner else pa.array([], TEXT)


def _redrive(row: Mapping[str, Any]) -> Redrive:
    columns = {name: row[name] for name in Redrive.__dataclass_fields__}
    return Redrive(**{**columns, "ends": Cut.parse(row["ends"]), "origins": json.loads(row["origins"])})
