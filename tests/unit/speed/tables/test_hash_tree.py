"""Which files of clustered events are merged: few stay for each hash, and each event is written again a few times."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from infra.lake.data_files import MAX, MIN, DataFile
from speed.tables import hash_tree
from speed.tables.hash_tree import FULL, MOST_FILES, ROOT, Merge, Node, due_merges, node_of

ROW_BYTES = 40
NAMES = count()


def file(rows: int, low: int = MIN, high: int = MAX) -> DataFile:
    return DataFile(f"{next(NAMES):09d}", rows * ROW_BYTES, rows, low, high)


def merged(merge: Merge) -> list[DataFile]:
    """What a merge leaves of files whose hashes are uniform."""
    rows = sum(part.rows for part in merge.files)
    if not merge.split:
        return [file(rows, min(f.low for f in merge.files), max(f.high for f in merge.files))]
    first = MIN + (merge.node.prefix << (64 - 4 * merge.node.level))
    starts = [first, *merge.node.boundaries]
    ends = [*(start - 1 for start in merge.node.boundaries), first + 2 ** (64 - 4 * merge.node.level) - 1]
    return [file(rows // 16, *span) for span in zip(starts, ends, strict=True)]


def settled(files: list[DataFile]) -> tuple[list[DataFile], int]:
    """The files after all merges, and the rows that these wrote."""
    written = 0
    while merge := next(due_merges(files), None):
        files = [kept for kept in files if kept not in merge.files]
        files += merged(merge)
        written += sum(part.rows for part in merge.files)
    return files, written


def test_a_file_belongs_to_the_smallest_node_that_holds_its_hashes() -> None:
    assert node_of(file(10_000)) == ROOT
    assert node_of(file(10_000, -1, 0)) == ROOT
    assert node_of(file(10_000, 0, MAX)) == ROOT
    assert node_of(file(10_000, 0, 2**60 - 1)) == Node(1, 8)
    assert node_of(file(10_000, 0, 2**60)) == ROOT
    assert node_of(file(10_000, MIN, MIN + 255)) == Node(14, 0)
    assert node_of(file(10_000, 5, 5)) == Node(16, 2**63 + 5)
    assert node_of(file(999, 5, 5)) == ROOT


def test_the_boundaries_of_a_node_are_the_first_hashes_of_its_children() -> None:
    assert ROOT.boundaries == [MIN + n * 2**60 for n in range(1, 16)]
    assert Node(1, 8).boundaries[:2] == [2**56, 2 * 2**56]
    assert {node_of(file(10_000, low, low + 2**56 - 1)) for low in [0, *Node(1, 8).boundaries]} == {
        Node(2, 128 + n) for n in range(16)
    }


def test_few_files_are_left_alone_and_many_small_ones_become_one() -> None:
    assert list(due_merges([file(1_000) for _ in range(MOST_FILES)])) == []
    (merge,) = due_merges([file(1_000) for _ in range(MOST_FILES + 1)])
    assert (len(merge.files), merge.split) == (MOST_FILES + 1, False)


def test_a_large_file_waits_until_smaller_ones_are_half_as_large() -> None:
    small, large = [file(1_000) for _ in range(MOST_FILES)], file(100_000)
    (merge,) = due_merges([large, *small])
    assert merge.files == tuple(small)
    (merge,) = due_merges([file(7_000), *small])
    assert len(merge.files) == MOST_FILES + 1


def test_a_full_node_is_split_unless_it_is_one_hash() -> None:
    half = FULL // 2 // ROW_BYTES + 1
    assert [merge.split for merge in due_merges([file(half), file(half)])] == [True]
    assert list(due_merges([file(half, 7, 7), file(half, 7, 7)])) == []
    large = [file(2 * half, 7, 7) for _ in range(100)]
    assert list(due_merges(large)) == []
    (merge,) = due_merges([*large, *(file(half, 7, 7) for _ in range(MOST_FILES + 1))])
    assert (merge.node.is_one_hash, len(merge.files), merge.split) == (True, MOST_FILES + 1, False)


def test_reads_stay_few_and_rewrites_grow_with_the_logarithm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two million events in epochs of 500, merged every 20 epochs: three levels of small nodes."""
    monkeypatch.setattr(hash_tree, "FULL", 1024 * 1024)
    files, written, events = list[DataFile](), 0, 2_000_000
    for _ in range(events // 10_000):
        files += [file(500) for _ in range(20)]
        files, more = settled(files)
        written += more
    levels = {node_of(f).level for f in files}
    assert levels == {0, 1, 2}
    assert max(Counter(map(node_of, files)).values()) <= MOST_FILES
    assert max(sum(f.size for f in files if node_of(f) == node) for node in set(map(node_of, files))) <= 2**20
    assert events * 0.99 < sum(f.rows for f in files) <= events
    assert written / events < 8 * len(levels)
