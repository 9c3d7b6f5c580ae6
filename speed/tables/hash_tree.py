"""Which files of a table to merge, so that a reader of some hashes reads a small share of the rows.

The files form a tree. A node is a range of hashes: the root all of them, each child a sixteenth of its parent. A file
belongs to the smallest node that holds all of its hashes, and a small file to the root. A full node is split: its rows
move to its children, sorted. A node with many files gets fewer, larger ones. So each node on the way to a hash has few
sorted files, and an event is written again a few times for each level, of which there are log16(size / ``FULL``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from infra.lake.data_files import DataFile

FULL = 8 * 1024 * 1024  # bytes of a node on disk
MOST_FILES = 4  # of a node
_SMALL_SHARE, _SMALL_ROWS = 1 / 64, 1_000  # of FULL, and rows; else every hash might get a small file of its own
_BITS = 4  # of a hash per level
_HASH_BITS = 64
_LEVELS = _HASH_BITS // _BITS
_GROWTH = 2  # a file is merged with smaller ones that are together at least half as large: they grow by half each time


@dataclass(frozen=True, order=True)
class Node:
    """The hashes whose first ``level`` digits (base 16, from the smallest hash up) are those of ``prefix``."""

    level: int
    prefix: int

    @property
    def is_one_hash(self) -> bool:
        """Whether it holds a single hash, so cannot be split."""
        return self.level == _LEVELS

    @property
    def boundaries(self) -> list[int]:
        """The smallest hash of each child, but for the first one."""
        shift = _HASH_BITS - _BITS * (self.level + 1)
        first = self.prefix << _BITS
        return [((first + child) << shift) - 2 ** (_HASH_BITS - 1) for child in range(1, 2**_BITS)]


ROOT = Node(0, 0)


@dataclass(frozen=True)
class Merge:
    """Files of a node to be merged, the smallest first; with ``split``, by child."""

    node: Node
    files: tuple[DataFile, ...]
    split: bool


def due_merges(files: Iterable[DataFile]) -> Iterator[Merge]:
    """The merges that are due, from the root down, at most one for each node."""
    nodes: dict[Node, list[DataFile]] = {}
    for file in files:
        nodes.setdefault(node_of(file), []).append(file)
    for node, of_node in sorted(nodes.items()):
        ascending = sorted(of_node, key=lambda file: (file.size, file.path))
        if not node.is_one_hash and sum(file.size for file in ascending) > FULL:
            yield Merge(node, tuple(ascending), split=True)
            continue
        mergeable = [file for file in ascending if file.size < FULL]
        if len(mergeable) > MOST_FILES:
            yield Merge(node, tuple(mergeable[: _growing(mergeable)]), split=False)


def node_of(file: DataFile) -> Node:
    """The node that a file belongs to."""
    if file.size < FULL * _SMALL_SHARE and file.rows < _SMALL_ROWS:
        return ROOT
    low, high = (value + 2 ** (_HASH_BITS - 1) for value in (file.low, file.high))
    level = (_HASH_BITS - (low ^ high).bit_length()) // _BITS
    return Node(level, low >> (_HASH_BITS - _BITS * level))


def _growing(ascending: list[DataFile]) -> int:
    """How many files to merge, so that each of them is in a file half as large again: an event is merged rarely."""
    count, smaller = 2, ascending[0].size
    for number, file in enumerate(ascending[1:], start=2):
        if file.size <= _GROWTH * smaller:
            count = number
        smaller += file.size
    return count
