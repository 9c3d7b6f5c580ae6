"""Table control.leases: one row per lease, which names its holder; its log tells the generations."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from core.errors import LkError
from core.identifiers import Name
from infra.lake import compaction, damage, delta, durable, table_paths
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings

SCHEMA = pa.schema(
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
_CHECKPOINT_EVERY = 10  # commits; each check opens the table and reads the commits since the last checkpoint
# All holders write this table: log cleanup after a commit fails when another process cleans up at the same time. And it
# deletes the entries before a checkpoint that is not on the disk yet.
HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


@dataclass(frozen=True)
class LeaseRow:
    """The last holder of a lease."""

    generation: int
    holder: ProcessIdentity
    since: datetime
    released: bool


def create(path: str) -> None:
    """Creates the table unless it exists."""
    delta.create(path, SCHEMA, log_retention=_RETENTION, checkpoint_every=_CHECKPOINT_EVERY)


def vacuum(path: str) -> None:
    """Vacuums the table; of several processes that do, one may fail because a file is deleted already."""
    with contextlib.suppress(DeltaError, OSError, LkError):
        durable.sync_table(path, delta.table(path))  # before what a checkpoint has replaced is deleted
        compaction.vacuum(path)


def restore(settings: Settings) -> list[str]:
    """After a power loss: replaces lost entries of the log, and forgets the holders, who all have ended.

    Returns what was damaged; does nothing when nothing was. The log still tells the generations.
    """
    path = table_paths.control(settings, TABLE)
    lost = damage.restore_log(path, unless={})
    damaged = [file.path for file in damage.scrub(path).damages]
    if damaged:
        write_deltalake(delta.table(path), SCHEMA.empty_table(), mode="overwrite", post_commithook_properties=HOOKS)
        compaction.checkpoint(path)  # it forgets the checksums of what was lost
    return [*lost, *damaged]


def last_generation(table: DeltaTable, name: Name, last: LeaseRow | None) -> int:
    """The generation of the last holder, also when its row was lost."""
    return max(last.generation if last else 0, table.transaction_version(f"lease/{name}") or 0)


def read_row(table: DeltaTable, name: Name) -> LeaseRow | None:
    """The row of a lease; None before its first holder, or when the row was lost."""
    rows = delta.read_opened(table, filters=[("name", "=", str(name))]).to_pylist()
    if not rows:
        return None
    row = max(rows, key=lambda r: r["generation"])
    holder = ProcessIdentity(row["host"], row["pid"], row["started"], row["who"])
    return LeaseRow(row["generation"], holder, row["since"], row["released"])


def remove_row(table: DeltaTable, name: Name, txn: Transaction) -> None:
    """Deletes the row of a lease that is released."""
    commit = CommitProperties(app_transactions=[txn])
    table.delete(f"name = '{name}'", commit_properties=commit, post_commithook_properties=HOOKS)


def may_live(row: LeaseRow) -> bool:
    """A holder that is not known to be dead may be paused, or its host may be down: its heartbeat decides."""
    return not row.released and not row.holder.is_dead


def empty_commit(table: DeltaTable, txns: list[Transaction]) -> None:
    """Commits ``txn`` actions without rows."""
    table.create_write_transaction(
        [],
        mode="append",
        schema=table.schema(),
        commit_properties=CommitProperties(app_transactions=txns),
        post_commithook_properties=HOOKS,
    )
