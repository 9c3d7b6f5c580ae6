"""Table control.leases: the right to write, held by one process at a time, with a generation that each holder raises.

The table has one row per lease, which names the holder. A heartbeat is an empty commit with two ``txn`` actions: the
lease's generation, so that it conflicts with a takeover, and the time. It adds no data file. A holder that was paused
sees a higher generation, or gets a commit conflict, whatever it does next.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from core.errors import LkError, TryAgain
from core.identifiers import Name
from infra.lake import checksums, compaction, damage, delta, durable, lake_format, table_paths
from infra.lake.fence import Fence, lease_lost
from infra.lake.process_identity import ProcessIdentity
from infra.library_errors import first_line
from infra.retry import retry_on, wait_until
from infra.settings import Settings

_BEATS = 6  # heartbeats within ``lease_seconds``
_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("generation", pa.int64()),
        ("host", pa.string()),
        ("pid", pa.int64()),
        ("started", pa.float64()),
        ("who", pa.string()),
        ("since", pa.timestamp("us", tz="UTC")),
        ("released", pa.bool_()),
    ]
)
TABLE = Name("leases")
_RETENTION = "interval 10 minutes"
_VACUUM_EVERY = 100  # heartbeats; the Delta log grows meanwhile
_CHECKPOINT_EVERY = 10  # commits; each check opens the table and reads the commits since the last checkpoint
# All holders write this table: log cleanup after a commit fails when another process cleans up at the same time. And it
# deletes the entries before a checkpoint that is not on the disk yet.
_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


@dataclass(frozen=True)
class _Row:
    generation: int
    holder: ProcessIdentity
    since: datetime
    released: bool


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
            _empty_commit(table, [self.transaction, Transaction(_beat(self.name), _now_ms())])

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
    lease = _take(table_paths.control(settings, TABLE), Name(name), settings.lease_seconds)
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


def holder(settings: Settings, name: str) -> ProcessIdentity | None:
    """The holder of a lease; None if it is free, its holder is dead, or its heartbeat looks too old.

    It judges by the clock of this machine. What is deleted or taken over needs ``living_holder``.
    """
    return _holder(settings, Name(name), _is_recent)


def living_holder(settings: Settings, name: str) -> ProcessIdentity | None:
    """The holder of a lease, whatever the clocks say: one that looks silent is watched for half a lease."""
    return _holder(settings, Name(name), _beats)


def _holder(
    settings: Settings, name: Name, is_alive: Callable[[DeltaTable, str, Name, float], bool]
) -> ProcessIdentity | None:
    path = table_paths.control(settings, TABLE)
    if not delta.exists(path):
        return None
    table = delta.table(path)
    row = _row(table, name)
    is_held = row and _may_live(row) and is_alive(table, path, name, settings.lease_seconds)
    return row.holder if row and is_held else None


def fence(lease: Lease, path: str) -> None:
    """Makes commits of older generations on this table fail from now on; does nothing when that is so already."""
    table = delta.table(path)
    lease.check_against(table)
    if not lease.is_on(table):
        with _conflicts(lease.name):
            _empty_commit(table, [lease.transaction])
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
            post_commithook_properties=_HOOKS,
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
            _vacuum(lease._path)
        try:
            lease.beat()
        except TryAgain:
            return
        except (DeltaError, OSError, LkError):
            continue  # a concurrent commit, or a short failure of the storage: the next beat is soon enough


def _vacuum(path: str) -> None:
    """Vacuums the table; of several processes that do, one may fail because a file is deleted already."""
    with contextlib.suppress(DeltaError, OSError, LkError):
        durable.sync_table(path, delta.table(path))  # before what a checkpoint has replaced is deleted
        compaction.vacuum(path)


def _take(path: str, name: Name, lease_seconds: float) -> Lease:
    if not delta.exists(path):
        delta.create(path, _SCHEMA, log_retention=_RETENTION, checkpoint_every=_CHECKPOINT_EVERY)
    table = delta.table(path)
    last = _row(table, name)
    if last and _may_live(last) and _beats(table, path, name, lease_seconds):
        raise _held(name, last)
    lease = Lease(name, _last_generation(table, name, last) + 1, ProcessIdentity.current(), path)
    with _conflicts(name):
        _write(table, lease, released=False)
    if lease.generation % 50 == 0:
        _vacuum(path)
    return lease


def restore(settings: Settings) -> list[str]:
    """After a power loss: replaces lost entries of the log, and forgets the holders, who all have ended.

    Returns what was damaged; does nothing when nothing was. The log still tells the generations.
    """
    path = table_paths.control(settings, TABLE)
    lost = damage.restore_log(path, unless={})
    damaged = [file.path for file in damage.scrub(path).damages]
    if damaged:
        write_deltalake(delta.table(path), _SCHEMA.empty_table(), mode="overwrite", post_commithook_properties=_HOOKS)
        compaction.checkpoint(path)  # it forgets the checksums of what was lost
    return [*lost, *damaged]


def _last_generation(table: DeltaTable, name: Name, last: _Row | None) -> int:
    """The generation of the last holder, also when its row was lost."""
    return max(last.generation if last else 0, table.transaction_version(f"lease/{name}") or 0)


def _row(table: DeltaTable, name: Name) -> _Row | None:
    rows = delta.rows_of(table, filters=[("name", "=", str(name))]).to_pylist()
    if not rows:
        return None
    row = max(rows, key=lambda r: r["generation"])
    holder = ProcessIdentity(row["host"], row["pid"], row["started"], row["who"])
    return _Row(row["generation"], holder, row["since"], row["released"])


def _may_live(row: _Row) -> bool:
    """A holder that is not known to be dead may be paused, or its host may be down: its heartbeat decides."""
    return not row.released and not row.holder.is_dead


def _is_recent(table: DeltaTable, _path: str, name: Name, lease_seconds: float) -> bool:
    """Whether the last heartbeat is less than ``lease_seconds`` away, in the past or by a clock that is ahead."""
    return abs(_now_ms() - _last_beat(table, name)) <= lease_seconds * 1000


def _beats(table: DeltaTable, path: str, name: Name, lease_seconds: float) -> bool:
    """Whether the last heartbeat is recent, or another comes: two clocks may differ by more than a lease."""
    if _is_recent(table, path, name, lease_seconds):
        return True
    beat, patience = _last_beat(table, name), lease_seconds / 2
    try:
        return wait_until(
            lambda: _last_beat(delta.table(path), name) != beat, patience, every=patience / 10, error=TimeoutError
        )
    except TimeoutError:
        return False


def _last_beat(table: DeltaTable, name: Name) -> int:
    """Milliseconds by the clock of the holder."""
    return table.transaction_version(_beat(name)) or 0


def _write(table: DeltaTable, lease: Lease, *, released: bool) -> None:
    now, holder = datetime.now(UTC), lease.holder
    values = [lease.name, lease.generation, holder.host, holder.pid, holder.started, holder.who, now, released]
    rows = pa.table({f.name: pa.array([v], f.type) for f, v in zip(_SCHEMA, values, strict=True)}, schema=_SCHEMA)
    rows = delta.with_columns_of(table, rows)
    txns = [lease.transaction, Transaction(_beat(lease.name), _now_ms())]
    write_deltalake(
        table,
        rows,
        mode="overwrite",
        predicate=f"name = '{lease.name}'",
        commit_properties=CommitProperties(app_transactions=txns),
        post_commithook_properties=_HOOKS,
    )
    checksums.record(lease._path, table.version())


def _empty_commit(table: DeltaTable, txns: list[Transaction]) -> None:
    table.create_write_transaction(
        [],
        mode="append",
        schema=table.schema(),
        commit_properties=CommitProperties(app_transactions=txns),
        post_commithook_properties=_HOOKS,
    )


@contextlib.contextmanager
def _conflicts(name: Name) -> Iterator[None]:
    try:
        yield
    except CommitFailedError as e:
        raise lease_lost(name, f"another process committed first ({first_line(str(e))})") from None


def _held(name: Name, row: _Row) -> TryAgain:
    return TryAgain(
        f"the lease {name} is held",
        where=f"{row.holder}, since {row.since:%Y-%m-%d %H:%M:%S} UTC",
        fix="wait until it has finished, then run the command again",
    )


def _beat(name: Name) -> str:
    return f"beat/{name}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
