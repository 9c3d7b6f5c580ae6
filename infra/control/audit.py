"""Table control.audit: who ran which verb when, with what arguments and outcome, as a chain of hashes.

An append needs no lease. It carries the number of its row as Delta's ``txn``: of two processes that append at once, one
commits and the other reads the new last row first. The lease "audit" is for compaction: two at once would write rows
twice. The heads in control.publications tell when the end was cut off; rows since the last one can be cut off unseen,
with their commits and checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from core.errors import LkError, Refused, TryAgain
from infra.control.store import TEXT, ControlTable, bound_files, has_many_files
from infra.lake import delta, durable, idempotent_writes, lake_format, leases
from infra.retry import retry_on
from infra.settings import Settings

TABLE = ControlTable("audit", pa.schema({"seq": pa.int64(), "previous": TEXT, "hash": TEXT, "entry": TEXT}))
LEASE = "audit"  # for compaction
_APP = "audit"
_FIRST = "0" * 64  # the hash before the first row
_AT_ONCE = 5_000  # rows that are read together
_PATIENCE = 20.0  # seconds, while other processes append
_CHECKPOINT_EVERY = 20


@dataclass(frozen=True)
class AuditHead:
    """The number and the hash of the last row; 0 without any."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return json.dumps({"seq": self.seq, "hash": self.hash})

    @staticmethod
    def parse(text: str) -> AuditHead:
        """From the text of a head."""
        values = json.loads(text)
        return AuditHead(values["seq"], values["hash"])


@dataclass(frozen=True)
class AuditRow:
    """A row: its number, the hash of the row before, its own hash, and what happened."""

    seq: int
    previous: str
    hash: str
    entry: Mapping[str, Any]


@dataclass(frozen=True)
class AuditCheck:
    """How many rows follow each other as they were written, and what is wrong with the next one; empty if all do.

    ``hash`` is that of the last of these rows.
    """

    rows: int
    broken: str
    hash: str = field(default=_FIRST, compare=False)


def append(settings: Settings, entry: Mapping[str, Any]) -> AuditHead:
    """Appends a row and returns it as the head. It is on the disk then.

    Raises Refused when the last row is gone or this program must not write the lake, TryAgain when others append all
    the time.
    """
    lake_format.require_writable(settings)
    path = TABLE.path(settings)
    if not delta.exists(path):
        _create(path)
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    return retry_on(TryAgain, lambda: _append(settings, path, text), _PATIENCE, every=0.05)


def head(settings: Settings) -> AuditHead:
    """The last row. Raises Refused when it is gone."""
    path = TABLE.path(settings)
    return _head(delta.table(path)) if delta.exists(path) else AuditHead(0, _FIRST)


def last_rows(settings: Settings, count: int) -> list[AuditRow]:
    """The last rows, the newest first."""
    first = head(settings).seq - count + 1
    rows = TABLE.read(settings, where=pc.field("seq") >= first)
    return [_row(row) for row in sorted(rows, key=lambda row: -row["seq"])]


def verify(settings: Settings, heads: Collection[AuditHead]) -> AuditCheck:
    """Follows the chain from the first row; stops at the first that was changed, removed or moved.

    ``heads`` are those that other tables have recorded. Reads some thousand rows at a time.
    """
    path = TABLE.path(settings)
    written = idempotent_writes.txn_version(path, _APP) or 0 if delta.exists(path) else 0
    hashes: dict[int, set[str]] = {}
    for recorded in heads:
        hashes.setdefault(recorded.seq, set()).add(recorded.hash)
    last = max([written, *hashes])
    previous, seq = _FIRST, 0
    for row in _in_order(settings):
        if row["seq"] != seq + 1:
            return AuditCheck(seq, _gap(seq, row["seq"]), previous)
        if row["hash"] != _hash(row["seq"], row["previous"], row["entry"]):
            return AuditCheck(seq, f"row {seq + 1} was changed or moved", previous)
        if row["previous"] != previous:
            return AuditCheck(seq, f"row {seq + 1} does not follow row {seq}: one of them was replaced", previous)
        if hashes.get(row["seq"], {row["hash"]}) != {row["hash"]}:
            return AuditCheck(seq, f"row {seq + 1} was replaced: a publication recorded another hash of it", previous)
        previous, seq = row["hash"], row["seq"]
    return AuditCheck(seq, f"row {seq + 1} was removed, and all after it" if seq < last else "", previous)


def _create(path: str) -> None:
    """Creates the table; another process may do so at the same time."""
    try:
        delta.create(path, TABLE.schema, checkpoint_every=_CHECKPOINT_EVERY)
    except DeltaError:
        if not delta.exists(path):
            raise


def _gap(seq: int, following: int) -> str:
    return f"row {seq + 1} was removed" if following > seq else f"row {following} is there twice"


def _append(settings: Settings, path: str, text: str) -> AuditHead:
    opened = delta.table(path)
    last = _head(opened)
    seq = last.seq + 1
    new = AuditHead(seq, _hash(seq, last.hash, text))
    row = {"seq": seq, "previous": last.hash, "hash": new.hash, "entry": text}
    rows = pa.Table.from_pylist([row], schema=TABLE.schema)
    version = idempotent_writes.append_once(path, rows, _APP, seq, opened=opened)
    if version is None:
        raise TryAgain("another process appended to the audit first", where=path, fix="run the command again")
    durable.sync_commit(path, version)
    if has_many_files(opened):
        _compact(settings, path)
    return new


def _compact(settings: Settings, path: str) -> None:
    """Compacts the table, unless another process does; a failure is left to the next append."""
    with contextlib.suppress(DeltaError, OSError, LkError), leases.hold(settings, LEASE, fenced=[path]) as lease:
        bound_files(path, delta.table(path), lease)


def _head(opened: DeltaTable) -> AuditHead:
    seq = opened.transaction_version(_APP) or 0
    if seq == 0:
        return AuditHead(0, _FIRST)
    hashes = delta.read_opened(opened, ["hash"], pc.field("seq") == seq)["hash"].to_pylist()
    if len(hashes) != 1:
        raise Refused(
            f"row {seq}, the last one of the audit, is {'gone' if not hashes else 'there twice'}",
            where="control.audit",
            fix="see `lk audit verify`; restore the table from a backup",
        )
    return AuditHead(seq, hashes[0])


def _in_order(settings: Settings) -> Iterator[dict[str, Any]]:
    """Every row, ordered by number, up to a gap; then one of those after it, if there are any."""
    seq, first = pc.field("seq"), 1
    yield from TABLE.read(settings, where=seq < first)
    while True:
        rows = sorted(
            TABLE.read(settings, where=(seq >= first) & (seq < first + _AT_ONCE)), key=lambda row: int(row["seq"])
        )
        yield from rows
        first += _AT_ONCE
        if len(rows) < _AT_ONCE:
            break
    numbers = [row["seq"] for row in TABLE.read(settings, ("seq",), seq >= first)]
    if numbers:
        yield from TABLE.read(settings, where=seq == min(numbers))


def _hash(seq: int, previous: str, entry: str) -> str:
    return hashlib.sha256(f"{seq}\n{previous}\n{entry}".encode()).hexdigest()


def _row(row: Mapping[str, Any]) -> AuditRow:
    return AuditRow(row["seq"], row["previous"], row["hash"], json.loads(row["entry"]))
