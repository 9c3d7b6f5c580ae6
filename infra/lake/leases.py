"""Leases: the right to write, held by one process at a time, with a generation that each holder raises.

A heartbeat is an empty commit with two ``txn`` actions: the lease's generation, so that it conflicts with a takeover,
and the time. It adds no data file. A holder that was paused sees a higher generation, or gets a commit conflict,
whatever it does next.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from core.errors import LkError, TryAgain
from core.identifiers import Name
from core.unix_time import utc_text
from infra import clock
from infra.lake import checksums, delta, durable, heartbeats, idempotent_writes, lake_format, lease_table, table_paths
from infra.lake.fence import Fence, lease_lost
from infra.lake.process_identity import ProcessIdentity
from infra.library_errors import first_line
from infra.retry import retry_on
from infra.settings import Settings

_BEATS = 6  # heartbeats within ``lease_seconds``
_VACUUM_EVERY = 100  # heartbeats; the Delta log grows meanwhile


@dataclass(frozen=True)
class Lease(Fence):
    """A held lease. Pass it to writers of Delta tables, and ``check`` it before anything that no fence protects."""

    holder: ProcessIdentity
    _path: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self) -> None:
        """Raises TryAgain when another process has taken over the lease."""
        self.check_against(delta.table(self._path))

    def beat(self) -> None:
        """Commits a heartbeat. Raises TryAgain when the lease is lost."""
        with self._lock:
            table = delta.table(self._path)
            self.check_against(table)
            lease_table.empty_commit(table, [self.transaction, Transaction(heartbeats.app(self.name), clock.now_ms())])

    def renew(self, timeout: float) -> None:
        """Commits a heartbeat; tries again, for ``timeout`` seconds, when another lease was renewed at the moment."""
        retry_on(DeltaError, self.beat, timeout, every=0.1)

    def release(self) -> None:
        """Releases the lease, unless it is lost already."""
        with self._lock, contextlib.suppress(DeltaError, OSError, LkError):
            table = delta.table(self._path)
            self.check_against(table)
            _write(table, self, released=True)


@contextlib.contextmanager
def hold(settings: Settings, name: str, *, fenced: Sequence[str] = ()) -> Iterator[Lease]:
    """Holds a lease while the block runs, with a heartbeat. Raises TryAgain with the holder when it is held.

    Raises Refused when this program must not write the lake.
    ``fenced`` are paths of tables on which commits of earlier generations fail from now on.
    """
    lake_format.require_writable(settings)
    lease = _take(table_paths.control(settings, lease_table.TABLE), Name(name), settings.lease_seconds)
    stop = threading.Event()
    every = settings.lease_seconds / _BEATS
    thread = threading.Thread(target=_beat_until, args=(lease, stop, every), name=f"lease-{name}", daemon=True)
    thread.start()
    try:
        for path in fenced:
            fence(lease, path)
        yield lease
    finally:
        stop.set()
        thread.join(timeout=settings.lease_seconds)
        lease.release()


def forget(settings: Settings, name: str) -> None:
    """Removes the row of a lease that nobody takes any more; the log keeps its generation. Safe to repeat.

    Raises TryAgain with the holder when it is held.
    """
    path = table_paths.control(settings, lease_table.TABLE)
    if not delta.exists(path) or lease_table.read_row(delta.table(path), Name(name)) is None:
        return
    with hold(settings, name) as lease:
        pass
    table = delta.table(path)
    with _conflicts(lease.name):
        lease_table.remove_row(table, lease.name, lease.transaction)
    checksums.record(path, table.version())


def holder(settings: Settings, name: str) -> ProcessIdentity | None:
    """The holder of a lease; None if it is free, its holder is dead, or its heartbeat looks too old.

    It judges by the clock of this machine. What is deleted or taken over needs ``living_holder``.
    """
    return _holder(settings, Name(name), heartbeats.is_recent)


def living_holder(settings: Settings, name: str) -> ProcessIdentity | None:
    """The holder of a lease, whatever the clocks say: one that looks silent is watched for half a lease."""
    return _holder(settings, Name(name), heartbeats.is_beating)


def _holder(
    settings: Settings, name: Name, is_alive: Callable[[DeltaTable, str, Name, float], bool]
) -> ProcessIdentity | None:
    path = table_paths.control(settings, lease_table.TABLE)
    if not delta.exists(path):
        return None
    table = delta.table(path)
    row = lease_table.read_row(table, name)
    is_held = row and lease_table.may_live(row) and is_alive(table, path, name, settings.lease_seconds)
    return row.holder if row and is_held else None


def fence(lease: Lease, path: str) -> None:
    """Makes commits of older generations on this table fail from now on; does nothing when that is so already."""
    table = delta.table(path)
    lease.check_against(table)
    if not lease.is_on(table):
        with _conflicts(lease.name):
            lease_table.empty_commit(table, [lease.transaction])
        durable.sync_checkpoint(path, table.version())


def append(lease: Lease, path: str, rows: pa.Table) -> DeltaTable:
    """Appends rows and returns the open table. Raises TryAgain, without a commit, when the lease is lost.

    The rows are on the disk when it returns: other tables rely on them, and nothing can compute them again.
    A column that the table of an older lake does not have is added.
    """
    table = delta.table(path)
    lease.check_against(table)
    commit = CommitProperties(app_transactions=[lease.transaction])
    with _conflicts(lease.name):
        write_deltalake(
            table,
            rows,
            mode="append",
            schema_mode="merge",
            commit_properties=commit,
            post_commithook_properties=lease_table.HOOKS,
        )
    durable.sync_commit(path, table.version())
    durable.sync_checkpoint(path, table.version())
    checksums.record(path, table.version())
    return table


def _beat_until(lease: Lease, stop: threading.Event, every: float) -> None:
    beats = 0
    while not stop.wait(every):
        beats += 1
        if beats % _VACUUM_EVERY == 0:
            lease_table.vacuum(lease._path)
        try:
            lease.beat()
        except TryAgain:
            return
        except (DeltaError, OSError, LkError):
            continue  # a concurrent commit, or a short failure of the storage: the next beat is soon enough


def _take(path: str, name: Name, lease_seconds: float) -> Lease:
    if not delta.exists(path):
        lease_table.create(path)
    table = delta.table(path)
    last = lease_table.read_row(table, name)
    if last and lease_table.may_live(last) and heartbeats.is_beating(table, path, name, lease_seconds):
        raise _held(name, last)
    lease = Lease(name, lease_table.last_generation(table, name, last) + 1, ProcessIdentity.current(), path)
    with _conflicts(name):
        _write(table, lease, released=False)
    if lease.generation % 50 == 0:
        lease_table.vacuum(path)
    return lease


def _write(table: DeltaTable, lease: Lease, *, released: bool) -> None:
    now, holder = datetime.now(UTC), lease.holder
    values = [lease.name, lease.generation, holder.host, holder.pid, holder.started, holder.who, now, released]
    rows = pa.table(
        {f.name: pa.array([v], f.type) for f, v in zip(lease_table.SCHEMA, values, strict=True)},
        schema=lease_table.SCHEMA,
    )
    rows = idempotent_writes.with_columns_of(table, rows)
    txns = [lease.transaction, Transaction(heartbeats.app(lease.name), clock.now_ms())]
    write_deltalake(
        table,
        rows,
        mode="overwrite",
        predicate=f"name = '{lease.name}'",
        commit_properties=CommitProperties(app_transactions=txns),
        post_commithook_properties=lease_table.HOOKS,
    )
    checksums.record(lease._path, table.version())


@contextlib.contextmanager
def _conflicts(name: Name) -> Iterator[None]:
    try:
        yield
    except CommitFailedError as e:
        raise lease_lost(name, f"another process committed first ({first_line(str(e))})") from None


def _held(name: Name, row: lease_table.LeaseRow) -> TryAgain:
    return TryAgain(
        f"the lease {name} is held",
        where=f"{row.holder}, since {utc_text(row.since)}",
        fix="wait until it has finished, then run the command again",
    )
