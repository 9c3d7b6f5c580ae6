"""Files of the lake and of checkpoints, in a local folder and in an object store alike."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import fs
from pyarrow.dataset import dataset

from infra.lake import object_store
from infra.retry import retry_on

_MADE_MEANWHILE = 5.0  # seconds
_BLOCK = 512  # bytes of st_blocks, whatever the file system's blocks are


def filesystem(place: str) -> tuple[fs.FileSystem, str]:
    """The file system of a folder or URI, and the path in it."""
    if place.startswith("/"):
        return fs.LocalFileSystem(), place
    if object_store.is_object(place):
        return object_store.filesystem(place)
    file_system, path = fs.FileSystem.from_uri(place)
    return file_system, path


def entries(file_system: fs.FileSystem, folder: str, *, recursive: bool = False) -> list[fs.FileInfo]:
    """What a folder holds; nothing when it does not exist.

    Where Arrow could not list a folder it looks whether there is one, and fails if another process made it meanwhile.
    """
    selector = fs.FileSelector(folder, allow_not_found=True, recursive=recursive)
    return retry_on(FileNotFoundError, lambda: list(file_system.get_file_info(selector)), _MADE_MEANWHILE, every=0.01)


def folders(path: str) -> list[str]:
    """Names of the folders in a folder, sorted; an empty list when it does not exist."""
    files, root = filesystem(path)
    return sorted(info.base_name for info in entries(files, root) if info.type == fs.FileType.Directory)


def remove(path: str) -> bool:
    """Deletes a folder and its content; False when it does not exist."""
    files, root = filesystem(path)
    if files.get_file_info(root).type != fs.FileType.Directory:
        return False
    files.delete_dir(root)
    return True


def parquet_batches(path: str) -> Iterator[pa.Table]:
    """The rows of all Parquet files in a folder, a few at a time."""
    file_system, root = filesystem(path)
    yield from map(
        pa.Table.from_batches,
        ([batch] for batch in dataset(root, format="parquet", filesystem=file_system).to_batches()),
    )


def size(path: str) -> int:
    """The size of all files below a folder, in bytes; local ones folder by folder, as there may be millions."""
    if path.startswith("/"):
        return sum(stat.st_size for stat in _stats(path))
    files, root = filesystem(path)
    return sum(info.size or 0 for info in entries(files, root, recursive=True) if info.type == fs.FileType.File)


def disk_use(path: str) -> int:
    """The bytes that all files below a folder take on the disk: a sparse file, such as Kafka's index, takes fewer."""
    if path.startswith("/"):
        return sum(stat.st_blocks * _BLOCK for stat in _stats(path))
    return size(path)


def _stats(path: str) -> Iterator[os.stat_result]:
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                yield Path(folder, name).stat()


def sync(paths: Iterable[Path]) -> None:
    """Waits until local files, and their names in their folders, are on the disk; skips those that are gone."""
    existing = [path for path in paths if path.exists()]
    for path in [*existing, *sorted({path.parent for path in existing})]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace(path: str, content: bytes) -> None:
    """Writes a file atomically: readers see the old content or the new. Its folder must exist."""
    files, target = filesystem(path)
    part = target if object_store.is_object(path) else f"{target}.part"
    with files.open_output_stream(part) as out:
        out.write(content)
    if part != target:
        files.move(part, target)
