"""Delta tables on disk: declared types, idempotent appends, one winner of a race, and fences against old leases."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from core.errors import Refused, TryAgain
from core.identifiers import Name
from core.measures import POSITION_TYPE, Column
from infra.lake import compaction, delta, idempotent_writes, leases, table_paths
from infra.lake.arrow_types import arrow_schema
from infra.lake.leases import Lease
from infra.settings import Settings

COLUMNS = [
    Column("key", "string"),
    Column("amount", "decimal(38,2)"),
    Column("at", "timestamp"),
    Column("_at", POSITION_TYPE),
    Column("headers", "array<struct<key:string,value:binary>>"),
    Column("epoch", "bigint"),
]
SCHEMA = arrow_schema(COLUMNS)


def rows(*epochs: int) -> pa.Table:
    row = {"key": "k", "amount": Decimal("1.20"), "headers": [{"key": "h", "value": b"\x00"}]}
    return pa.Table.from_pylist([{**row, "epoch": epoch} for epoch in epochs], schema=SCHEMA)


def epochs(path: str) -> list[int]:
    return sorted(delta.read(path, ["epoch"])["epoch"].to_pylist())


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = str(tmp_path / "table")
    delta.create(place, SCHEMA, log_retention="interval 1 hours")
    return place


def test_types_are_kept_as_declared(path: str) -> None:
    idempotent_writes.append_once(path, rows(1), "a", 1)
    assert delta.read(path).schema.types == SCHEMA.types
    assert delta.read(path).to_pylist() == rows(1).to_pylist()


def test_creating_again_changes_nothing_and_other_types_are_refused(path: str) -> None:
    idempotent_writes.append_once(path, rows(1), "a", 1)
    delta.create(path, SCHEMA)
    assert epochs(path) == [1]
    with pytest.raises(Refused, match="other columns"):
        delta.create(path, arrow_schema([Column("key", "bigint")]))


def test_the_same_transaction_is_appended_once(path: str) -> None:
    assert idempotent_writes.append_once(path, rows(0), "a", 0) == 1
    assert idempotent_writes.append_once(path, rows(0), "a", 0) is None
    assert idempotent_writes.append_once(path, rows(5), "a", 5) == 2
    assert idempotent_writes.append_once(path, rows(4), "a", 4) is None
    assert idempotent_writes.append_once(path, rows(9), "b", 0) == 3
    assert epochs(path) == [0, 5, 9]
    assert (idempotent_writes.txn_version(path, "a"), idempotent_writes.txn_version(path, "c")) == (5, None)


def test_of_two_writers_of_one_transaction_one_wins(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loser has opened the table before the winner commits."""
    opened = delta.table(path)
    idempotent_writes.append_once(path, rows(1), "a", 1)
    monkeypatch.setattr(delta, "table", lambda _: opened)
    with pytest.raises(TryAgain, match="committed first"):
        idempotent_writes.append_once(path, rows(1), "a", 1)
    monkeypatch.undo()
    assert epochs(path) == [1]


def test_a_kept_handle_sees_what_others_committed(path: str) -> None:
    handle = delta.table(path)
    idempotent_writes.append_once(path, rows(1), "a", 1)
    assert idempotent_writes.append_once(path, rows(1), "a", 1, opened=handle) is None
    assert idempotent_writes.append_once(path, rows(2), "a", 2, opened=handle) == 2


def test_overwriting_a_range_is_one_commit_and_happens_once(path: str) -> None:
    for epoch in range(6):
        idempotent_writes.append_once(path, rows(epoch), "a", epoch)
    before = delta.version(path)
    assert idempotent_writes.overwrite_once(path, rows(2), "epoch >= 2 AND epoch <= 4", "fold", 1) == before + 1
    assert idempotent_writes.overwrite_once(path, rows(2), "epoch >= 2 AND epoch <= 4", "fold", 1) is None
    assert epochs(path) == [0, 1, 2, 5]
    assert sorted(delta.read(path, version=before)["epoch"].to_pylist()) == [0, 1, 2, 3, 4, 5]


def test_maintenance_keeps_rows_and_transactions(path: str) -> None:
    for epoch in range(30):
        idempotent_writes.append_once(path, rows(epoch), "a", epoch)
    compaction.compact(path)
    compaction.checkpoint(path)
    compaction.vacuum(path)
    assert epochs(path) == list(range(30))
    assert len(delta.table(path).file_uris()) == 1
    assert idempotent_writes.append_once(path, rows(29), "a", 29) is None


def test_a_vacuum_leaves_no_file_on_disk_that_no_row_needs(tmp_path: Path) -> None:
    """Checkpoints between the compactions: they forget which files were removed before."""
    path = str(tmp_path / "short")
    delta.create(path, SCHEMA, log_retention="interval 0 seconds")
    for epoch in range(60):
        idempotent_writes.append_once(path, rows(epoch), "a", epoch)
        if epoch % 20 == 19:
            compaction.compact(path)
            compaction.checkpoint(path)
    assert compaction.vacuum(path) >= 60
    assert len(list(Path(path).glob("*.parquet"))) == len(delta.table(path).file_uris()) == 1
    assert epochs(path) == list(range(60))


def test_concurrent_appends_of_other_transactions_do_not_conflict(path: str) -> None:
    opened = delta.table(path)
    idempotent_writes.append_once(path, rows(1), "a", 1)
    once = CommitProperties(app_transactions=[Transaction("b", 1)])
    write_deltalake(opened, rows(2), mode="append", commit_properties=once)
    assert epochs(path) == [1, 2]


def test_a_lease_of_an_older_generation_cannot_commit(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    path = table_paths.speed(settings, Name("r000001"), Name("view"))
    delta.create(path, SCHEMA)
    with leases.hold(settings, "run_r000001") as lease:
        old = Lease(lease.name, lease.generation - 1, lease.holder, lease._path)
        leases.fence(lease, path)
        with pytest.raises(TryAgain, match="lease lost"):
            idempotent_writes.append_once(path, rows(1), "a", 1, lease=old)
        assert idempotent_writes.append_once(path, rows(1), "a", 1, lease=lease) is not None
    assert epochs(path) == [1]


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the table does not exist"):
        delta.read(str(tmp_path / "nothing"))


def test_a_lake_of_another_format_is_refused(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert table_paths.open_lake(settings) == table_paths.open_lake(settings)
    (tmp_path / "lake" / "FORMAT").write_text("1")
    with pytest.raises(Refused, match="format '1'"):
        table_paths.open_lake(settings)


def test_a_changed_retention_holds_for_a_table_that_exists(path: str) -> None:
    for _ in range(2):
        delta.set_retention(path, "interval 90 minutes")
    configuration = delta.table(path).metadata().configuration
    assert configuration["delta.logRetentionDuration"] == "interval 90 minutes"
    assert configuration["delta.deletedFileRetentionDuration"] == "interval 90 minutes"
    assert delta.version(path) == 1
