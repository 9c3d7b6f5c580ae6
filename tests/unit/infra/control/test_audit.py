"""The audit is one chain of hashes: a row that was changed, removed or moved is found, and so is a lost end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from core.errors import Refused
from infra.control import audit
from infra.control.audit import AuditCheck, AuditHead, append, head, last_rows, verify
from infra.lake import compaction, delta, table_paths
from infra.project_files import ROOT
from infra.settings import Settings

Rows = list[dict[str, Any]]
# printf '1\n%064d\n{"verb":"publish","why":"a"}' 0 | sha256sum; and that hash in the place of 0 for the second.
FIRST = "71d3ab7a178c7ce59e552dcc7ab1ad9ce94c1f5cc0b1b8961ba9f3cef473a3cd"
SECOND = "273e1d1a591575317d39c2cef9e9e913a210d4330f9790ce8fc0342628c52512"
WRITER = (
    "import sys; from pathlib import Path; from infra.control.audit import append; from infra.settings import Settings;"
    "[append(Settings(data=Path(sys.argv[1])), {'verb': sys.argv[2], 'n': n}) for n in range(15)]"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path)
    table_paths.open_lake(settings)
    return settings


def written(settings: Settings, count: int) -> None:
    for number in range(1, count + 1):
        append(settings, {"verb": "publish", "n": number})


def rewritten(settings: Settings, change: Callable[[Rows], Rows]) -> None:
    """Replaces the rows of the table, as someone would who may write its files."""
    path = audit.TABLE.path(settings)
    rows = change(sorted(delta.read(path).to_pylist(), key=lambda row: row["seq"]))
    write_deltalake(path, pa.Table.from_pylist(rows, schema=audit.TABLE.schema), mode="overwrite")


def test_the_chain_is_what_sha256_gives(settings: Settings) -> None:
    assert (head(settings).seq, verify(settings, [])) == (0, AuditCheck(0, ""))
    first = append(settings, {"verb": "publish", "why": "a"})
    second = append(settings, {"verb": "rollback"})
    assert (first.seq, first.hash) == (1, FIRST)
    assert (second.seq, second.hash) == (2, SECOND)
    assert head(settings) == second
    assert [(row.seq, row.entry) for row in last_rows(settings, 1)] == [(2, {"verb": "rollback"})]
    assert verify(settings, [AuditHead(1, FIRST)]) == AuditCheck(2, "")


def change_text(rows: Rows) -> Rows:
    rows[2]["entry"] = json.dumps({"verb": "publish", "n": 33})
    return rows


def change_and_hash_again(rows: Rows) -> Rows:
    rows[2]["entry"] = json.dumps({"verb": "publish", "n": 33})
    rows[2]["hash"] = audit._hash(3, rows[2]["previous"], rows[2]["entry"])
    return rows


def remove(rows: Rows) -> Rows:
    return rows[:2] + rows[3:]


def move(rows: Rows) -> Rows:
    rows[2]["seq"], rows[3]["seq"] = 4, 3
    return rows


def repeat(rows: Rows) -> Rows:
    return [*rows[:3], rows[2], *rows[3:]]


def remove_first(rows: Rows) -> Rows:
    return rows[1:]


def remove_many(rows: Rows) -> Rows:
    return [rows[0], rows[5]]


def cut_off(rows: Rows) -> Rows:
    return rows[:4]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (change_text, AuditCheck(2, "row 3 was changed or moved")),
        (change_and_hash_again, AuditCheck(3, "row 4 does not follow row 3: one of them was replaced")),
        (remove, AuditCheck(2, "row 3 was removed")),
        (move, AuditCheck(2, "row 3 was changed or moved")),
        (repeat, AuditCheck(3, "row 3 is there twice")),
        (remove_first, AuditCheck(0, "row 1 was removed")),
        (remove_many, AuditCheck(1, "row 2 was removed")),
        (cut_off, AuditCheck(4, "row 5 was removed, and all after it")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_row_that_is_not_as_it_was_written_is_named(
    settings: Settings, change: Callable[[Rows], Rows], expected: AuditCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(settings, 6)
    assert verify(settings, []) == AuditCheck(6, "")
    rewritten(settings, change)
    assert verify(settings, []) == expected
    monkeypatch.setattr(audit, "_AT_ONCE", 2)  # the rows are read in several ranges
    assert verify(settings, []) == expected


def test_a_chain_that_was_written_again_or_cut_off_differs_from_the_heads_of_publications(settings: Settings) -> None:
    written(settings, 3)
    published = head(settings)
    other = Settings(data=settings.data / "other")
    table_paths.open_lake(other)
    for number in range(1, 4):
        append(other, {"verb": "publish", "n": -number})
    assert verify(other, [published]) == AuditCheck(2, "row 3 was replaced: a publication recorded another hash of it")
    assert verify(other, [AuditHead(5, "f" * 64)]) == AuditCheck(3, "row 4 was removed, and all after it")


def test_an_end_that_is_cut_off_with_its_commits_is_seen_only_in_a_head_that_was_kept(settings: Settings) -> None:
    """The commits and their checksums have the check of the end; one alone that is gone is found when it is read."""
    written(settings, 3)
    kept = AuditHead(3, verify(settings, []).hash)
    assert kept == head(settings)
    table = Path(audit.TABLE.path(settings))
    (table / "_delta_log" / "00000000000000000003.json").unlink()
    with pytest.raises(Refused, match="a file of the lake is missing"):
        verify(settings, [])
    (table / "_checksums" / "3.json").unlink()
    cut = verify(settings, [])
    assert (cut, cut.hash) == (AuditCheck(2, ""), head(settings).hash)
    assert verify(settings, [kept]) == AuditCheck(2, "row 3 was removed, and all after it")


def test_after_its_last_row_is_gone_nothing_is_appended(settings: Settings) -> None:
    written(settings, 3)
    rewritten(settings, lambda rows: rows[:2])
    with pytest.raises(Refused, match="row 3, the last one of the audit, is gone"):
        append(settings, {"verb": "publish"})


def test_processes_that_append_at_once_make_one_chain(settings: Settings) -> None:
    """They also compact the table meanwhile: two at once, without a lease, wrote rows twice."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(settings.data), verb], cwd=ROOT) for verb in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert verify(settings, []) == AuditCheck(45, "")
    rows = last_rows(settings, 45)
    assert sorted((row.entry["verb"], row.entry["n"]) for row in rows) == [(v, n) for v in "abc" for n in range(15)]


def test_compaction_keeps_the_chain_and_few_files(settings: Settings) -> None:
    written(settings, 45)
    path = audit.TABLE.path(settings)
    assert len(delta.table(path).file_uris()) < 10
    compaction.compact(path)
    compaction.checkpoint(path)
    delta.set_retention(path, "interval 0 minutes")
    compaction.vacuum(path)
    assert head(settings).seq == 45
    assert verify(settings, []) == AuditCheck(45, "")


def test_an_append_to_a_long_audit_is_quick(settings: Settings) -> None:
    written(settings, 40)
    rows = delta.read(audit.TABLE.path(settings)).to_pylist()
    began = time.process_time()
    for number in range(5):
        append(settings, {"verb": "publish", "n": number})
    assert (time.process_time() - began) / 5 < 0.1
    assert len(rows) == 40
