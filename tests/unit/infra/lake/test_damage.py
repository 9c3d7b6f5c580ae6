"""Damage of a table is found by checksum, named by file, and no reader takes it for fewer rows."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import fs

from core.errors import Refused
from infra.lake import (
    checksums,
    compaction,
    damage,
    delta,
    delta_log,
    idempotent_writes,
    lease_table,
    leases,
    table_paths,
)
from infra.settings import Settings
from tests.support.faults.harms import HARMS, empty, flip, halve

SCHEMA = pa.schema([("epoch", pa.int64()), ("text", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three commits, a compaction with a checkpoint, and two more commits."""
    path = str(tmp_path / "table")
    delta.create(path, SCHEMA, log_retention="interval 0 seconds")
    for epoch in range(5):
        rows = pa.table({"epoch": [epoch] * 50, "text": [f"text {n}" for n in range(50)]}, SCHEMA)
        idempotent_writes.append_once(path, rows, "a", epoch)
        if epoch == 2:
            compaction.compact(path)
            compaction.checkpoint(path)
    checksums.finish()
    return tmp_path / "table"


def live(table: Path) -> list[Path]:
    return [table / name for name in delta_log.live_files(delta.table(str(table)))]


def needed(table: Path) -> list[Path]:
    """Every file that a reader needs."""
    log = table / delta_log.FOLDER
    return [*live(table), log / f"{4:020d}.checkpoint.parquet", log / f"{5:020d}.json", log / f"{6:020d}.json"]


def test_a_whole_table_has_no_damage_and_a_checksum_for_every_file(table: Path) -> None:
    scrubbed = damage.scrub(str(table))
    assert (scrubbed.damages, scrubbed.without_checksum, len(live(table))) == ((), 0, 3)
    names = {str(file.relative_to(table)) for file in needed(table)}
    assert names <= checksums.read(str(table))[0].keys()


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("number", range(6))
def test_every_damaged_file_is_named(table: Path, harm: str, number: int) -> None:
    file = needed(table)[number]
    HARMS[harm](file)
    assert str(file) in [scrubbed.path for scrubbed in damage.scrub(str(table)).damages]


@pytest.mark.parametrize("harm", ["halve", "empty", "remove"])
@pytest.mark.parametrize("number", range(6))
def test_a_reader_refuses_a_damaged_file_by_name(table: Path, harm: str, number: int) -> None:
    file = needed(table)[number]
    HARMS[harm](file)
    with pytest.raises(Refused, match="a file of the lake") as refused:
        delta.read(str(table))
    assert refused.value.where == str(file)


def test_compaction_writes_no_damaged_row_into_a_new_file(table: Path) -> None:
    file = live(table)[0]
    flip(file)
    before = live(table)
    with pytest.raises(Refused, match="has other content than was written") as refused:
        compaction.compact(str(table))
    assert refused.value.where == str(file)
    assert live(table) == before


def test_compaction_reads_for_damage_what_it_replaces_and_no_full_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty files of all sizes, in three rounds; in each, some are so full that none of their neighbours fits."""
    path, target, checked = str(tmp_path / "table"), 80 * 1024, set[str]()
    delta.create(path, SCHEMA)
    monkeypatch.setattr(damage, "require_content", lambda _, names: checked.update(names))
    numbers, full = random.Random(5), 0
    for epoch in range(60):
        text = numbers.randbytes(512 * numbers.choice((1, 1, 2, 3, 5, 8, 12, 20, 26))).hex()
        idempotent_writes.append_once(path, pa.table({"epoch": [epoch], "text": [text]}, SCHEMA), "a", epoch)
        if epoch % 20 == 19:
            checked.clear()
            before = delta_log.live_files(delta.table(path)).keys()
            assert compaction.compact(path, target) > 2
            removed = before - delta_log.live_files(delta.table(path)).keys()
            assert removed <= checked
            full += len(before - checked)
            compaction.checkpoint(path)
    assert full > 5


def test_a_table_without_its_log_is_not_created_again(table: Path) -> None:
    log = table / delta_log.FOLDER
    log.rename(table.parent / "lost")
    with pytest.raises(Refused, match="is missing") as refused:
        delta.create(str(table), SCHEMA)
    assert refused.value.where == str(table / delta_log.entry(6))


def test_rows_without_a_checksum_are_decoded(table: Path) -> None:
    """An older program wrote them, or its process was killed before it stored the checksums."""
    rows = pa.table({"epoch": [9], "text": ["old"]}, SCHEMA)
    write_deltalake(str(table), rows, mode="append", post_commithook_properties=delta.HOOKS)
    assert (damage.scrub(str(table)).damages, damage.scrub(str(table)).without_checksum) == ((), 2)
    compaction.checkpoint(str(table))  # it keeps checksums, and computes none of what may be damaged
    assert damage.scrub(str(table)).without_checksum == 1
    (file,) = set(live(table)) - {table / name for name in checksums.read(str(table))[0]}
    halve(file)
    assert [scrubbed.path for scrubbed in damage.scrub(str(table)).damages] == [str(file)]


def test_damaged_checksums_condemn_no_other_file(table: Path) -> None:
    file = table / checksums.FOLDER / "6.json"
    file.write_text(file.read_text("utf-8").replace("a", "b", 1), "utf-8")
    assert [scrubbed.path for scrubbed in damage.scrub(str(table)).damages] == [str(file)]
    compaction.checkpoint(str(table))
    assert damage.scrub(str(table)).damages == ()


def test_checksums_of_what_is_deleted_go_with_it(table: Path) -> None:
    """They stay as few as the live files, however many commits there were."""
    path = str(table)
    for epoch in range(5, 65):
        idempotent_writes.append_once(path, pa.table({"epoch": [epoch], "text": ["x"]}, SCHEMA), "a", epoch)
        if epoch % 20 == 4:
            compaction.compact(path)
            compaction.checkpoint(path)
    compaction.vacuum(path)
    assert len(list((table / checksums.FOLDER).iterdir())) == 1
    stored, _ = checksums.read(path)
    vacuum = delta.version(path)  # it has two entries
    log = {delta_log.checkpoint(vacuum - 2), delta_log.entry(vacuum - 1), delta_log.entry(vacuum)}
    assert stored.keys() == log | delta_log.live_files(delta.table(path)).keys()
    assert damage.scrub(path).damages == ()


def test_a_process_that_stores_its_checksums_late_replaces_no_merged_ones(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    for number in range(6):
        write_deltalake(path, pa.table({"number": [number]}), mode="append")
        if number < 5:
            checksums.record(path, number)
    checksums.finish()
    compaction.checkpoint(path)  # of one process, before that of version 5 has stored its checksums
    checksums.record(path, 5)
    checksums.finish()
    assert checksums.listed(path) == ["_checksums/4.json", "_checksums/5.json"]
    assert delta_log.live_files(delta.table(path)).keys() <= checksums.read(path)[0].keys()
    compaction.checkpoint(path)
    assert checksums.listed(path) == ["_checksums/5.json"]
    assert delta_log.live_files(delta.table(path)).keys() <= checksums.read(path)[0].keys()


def test_a_merge_that_meets_another_one_changes_nothing(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read_file = str(table), checksums.read_file
    stored = checksums.read(path)[0]

    def merged_meanwhile(file_system: fs.FileSystem, name: str) -> bytes:
        monkeypatch.undo()
        checksums._merge(path, delta.table(path), frozenset())
        return read_file(file_system, name)

    monkeypatch.setattr(checksums, "read_file", merged_meanwhile)
    checksums.merge(path, delta.table(path))
    assert delta_log.live_files(delta.table(path)).keys() <= stored.keys() & checksums.read(path)[0].keys()


def test_the_checksums_of_a_commit_have_one_of_their_own(table: Path) -> None:
    content = json.loads((table / checksums.FOLDER / "6.json").read_text("utf-8"))
    assert content["files"].keys() >= {delta_log.entry(6)}
    assert len(content["sha256"]) == 64


def test_leases_go_on_after_a_power_loss(tmp_path: Path) -> None:
    """The generation of a lease still grows: older ones are on the tables that it fences."""
    settings = Settings(data=tmp_path)
    path = table_paths.control(settings, lease_table.TABLE)
    for generation in (1, 2):
        with leases.hold(settings, "batch") as lease:
            assert lease.generation == generation
    checksums.finish()
    (file,) = delta_log.live_files(delta.table(path))
    empty(Path(path, file))
    with pytest.raises(Refused, match="a file of the lake is empty"), leases.hold(settings, "batch"):
        pass
    assert lease_table.restore(settings)
    with leases.hold(settings, "batch") as lease:
        assert lease.generation == 3
    assert lease_table.restore(settings) == []
