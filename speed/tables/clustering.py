"""Clusters the events that a keyed view without a reach keeps by the hash of their key.

An epoch of such a view reads all events of some keys, however old. What is merged is decided in hash_tree.py. A merge
passes through this process in chunks of a bounded size, outside of the table's mutex. Each event keeps its epoch, so no
reader sees a difference, and one commit replaces the merged files: a crash leaves the files as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.transaction import AddAction

from core.compute.keyed_events import HASH, SOURCE, TIME
from core.errors import RESUME_RUN, TryAgain
from infra import faults
from infra.lake import data_files, delta
from infra.lake.data_files import DataFile
from infra.lake.fence import Fence
from speed.tables import hash_tree, schemas
from speed.tables.hash_tree import Merge, Node

CHUNK_BYTES = 32 * 1024 * 1024  # of rows in memory, which are sorted at once
_COUNTED = (SOURCE, HASH, TIME, "epoch")


def cluster(path: str, lease: Fence) -> bool:
    """Does one merge that is due; False when there is none that leaves fewer files or bytes in its node."""
    files = data_files.live_files(delta.table(path), HASH)
    for merge in hash_tree.due_merges(files):
        inputs = _fitting(path, merge.files)
        if merge.split or len(inputs) > 1:
            data_files.replace(path, inputs, _write(path, merge, inputs), lease)
            faults.at("speed.6_after_merge")
            left = data_files.live_files(delta.table(path), HASH)
            if any(after < before for after, before in zip(_of(merge.node, left), _of(merge.node, files), strict=True)):
                return True
    return False


def _of(node: Node, files: Sequence[DataFile]) -> tuple[int, int]:
    """The number of files of a node, and their bytes."""
    sizes = [file.size for file in files if hash_tree.node_of(file) == node]
    return len(sizes), sum(sizes)


def _fitting(path: str, files: Sequence[DataFile]) -> list[DataFile]:
    """The first files whose rows fit in a chunk; at least one file, which may be larger."""
    taken, size = list[DataFile](), 0
    for file in files:
        size += data_files.estimated_bytes(path, file)
        if taken and size > CHUNK_BYTES:
            break
        taken.append(file)
    return taken


def _write(path: str, merge: Merge, inputs: Sequence[DataFile]) -> list[AddAction]:
    """Writes the rows of some files into new ones. Raises TryAgain unless it has read as many as the log counts."""
    written, read, counted = list[AddAction](), 0, sum(file.rows for file in inputs)
    for chunk in _chunks(path, inputs):
        rows, read = chunk.sort_by(HASH), read + chunk.num_rows
        for part in _by_child(rows, merge.node) if merge.split else [rows]:
            if part.num_rows:
                written.append(data_files.write(path, part, _COUNTED))
                faults.at("speed.6_in_merge")
    if read != counted:
        raise TryAgain(f"a merge read {read} of {counted} events", where=path, fix=f"run {RESUME_RUN}")
    return written


def _chunks(path: str, inputs: Sequence[DataFile]) -> Iterator[pa.Table]:
    schema = schemas.events_schema()
    parts, size = list[pa.Table](), 0
    for file in inputs:
        for rows in data_files.read_batches(path, file, schema):
            parts.append(rows)
            size += rows.nbytes
            if size > CHUNK_BYTES:
                yield pa.concat_tables(parts)
                parts, size = [], 0
    yield pa.concat_tables(parts) if parts else schema.empty_table()


def _by_child(ordered: pa.Table, node: Node) -> Iterator[pa.Table]:
    """The rows of each child of a node, of rows in the order of their hashes."""
    start = 0
    for boundary in node.boundaries:
        end = pc.sum(pc.less(ordered[HASH], boundary)).as_py() or 0
        yield ordered.slice(start, end - start)
        start = end
    yield ordered.slice(start)
