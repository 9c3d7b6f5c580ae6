"""A sha256 of every file that a commit added to a Delta table, and of the commit's own entry in the Delta log.

The folder ``_checksums`` of a table has a file for each commit, named by its version; a checkpoint merges them into
one. Readers of Delta, and its vacuum, pass over folders whose names begin with an underscore. One thread computes
checksums beside the work that commits. A process that is killed may leave its last commits without checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deltalake import DeltaTable
from pyarrow import fs

from infra.lake import delta_log, files, object_store

FOLDER = "_checksums"
_CHUNK = 1024 * 1024
_THREAD = ThreadPoolExecutor(1, "checksums")  # one, so that a merge never meets the checksums of a commit half-written


def record(path: str, version: int) -> None:
    """Stores the checksums of a commit, in the background. A failure is left to `lk scrub`: the rows are committed."""
    _THREAD.submit(_record, path, version)


def merge(path: str, opened: DeltaTable, written: Iterable[str] = ()) -> None:
    """Keeps the checksums of live files only, in one file, and adds those of files that were just ``written``.

    A file that has none stays without: computed now, it would be that of a file which may be damaged already.
    ``opened`` is up to date.
    """
    _THREAD.submit(_merge, path, opened, frozenset(written)).result()


def finish() -> None:
    """Waits until the checksums of all commits of this process are stored."""
    _THREAD.submit(lambda: None).result()


def read(path: str) -> tuple[dict[str, str], list[str]]:
    """The checksum of each file, by its path below the table's; and the files of checksums that are damaged."""
    file_system, root = files.filesystem(path)
    checksums: dict[str, str] = {}
    damaged: list[str] = []
    for version in _versions(file_system, root):
        name = f"{FOLDER}/{version}.json"
        with contextlib.suppress(FileNotFoundError):  # merged meanwhile
            stored = _parsed(read_file(file_system, f"{root}/{name}"))
            damaged += [name] if stored is None else []
            checksums |= stored or {}
    return checksums, damaged


def listed(path: str) -> list[str]:
    """The paths of the files of checksums, below that of the table."""
    file_system, root = files.filesystem(path)
    return [f"{FOLDER}/{version}.json" for version in _versions(file_system, root)]


def last_version(path: str) -> int:
    """The version of the last commit that has checksums; -1 without any."""
    file_system, root = files.filesystem(path)
    return max(_versions(file_system, root), default=-1)


def read_file(file_system: fs.FileSystem, path: str) -> bytes:
    """The content of a small file."""
    with file_system.open_input_stream(path) as stream:
        return bytes(stream.read())


def checksum_of(file_system: fs.FileSystem, path: str) -> str:
    """The sha256 of a file of any size."""
    checksum = hashlib.sha256()
    with file_system.open_input_stream(path) as stream:
        while chunk := stream.read(_CHUNK):
            checksum.update(chunk)
    return checksum.hexdigest()


def _record(path: str, version: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        file_system, root = files.filesystem(path)
        entry = read_file(file_system, f"{root}/{delta_log.entry(version)}")
        checksums = _computed(file_system, root, [*delta_log.added(entry), *_checkpoints(file_system, root, version)])
        _write(path, version, {delta_log.entry(version): hashlib.sha256(entry).hexdigest(), **checksums})


def _merge(path: str, opened: DeltaTable, written: frozenset[str]) -> None:
    with contextlib.suppress(OSError):
        file_system, root = files.filesystem(path)
        merged = [version for version in _versions(file_system, root) if version <= opened.version()]
        # Raises where another process has merged meanwhile: what it deleted would be missing here.
        contents = [_parsed(read_file(file_system, f"{root}/{FOLDER}/{version}.json")) for version in merged]
        stored = {name: checksum for content in contents for name, checksum in (content or {}).items()}
        last = delta_log.last_checkpoint(file_system, root)
        kept = {*delta_log.live_files(opened), *map(delta_log.entry, range(last + 1, opened.version() + 1))}
        kept |= {delta_log.checkpoint(last)} if last >= 0 else set()
        computed = _computed(file_system, root, sorted(written & kept - stored.keys()))
        into = _merged_into(opened.version(), merged, written)
        _write(path, into, {name: stored[name] for name in kept & stored.keys()} | computed)
        if path.startswith("/"):  # a power loss would empty it, and those that it replaces are gone
            files.sync([Path(path, FOLDER, f"{into}.json")])
        for version in set(merged) - {into}:
            file_system.delete_file(f"{root}/{FOLDER}/{version}.json")


def _merged_into(last: int, merged: Iterable[int], written: Iterable[str]) -> int:
    """The version that names a merged file: one that its own process does not write any more, or one of this process.

    The process of a later commit may have yet to store its checksums: it would replace those of all others.
    """
    return last if delta_log.entry(last) in written else max(merged, default=last)


def _computed(file_system: fs.FileSystem, root: str, names: Iterable[str]) -> dict[str, str]:
    return {name: checksum_of(file_system, f"{root}/{name}") for name in names}


def _checkpoints(file_system: fs.FileSystem, root: str, version: int) -> list[str]:
    """The checkpoint of this version, if the commit was due to write one."""
    name = delta_log.checkpoint(version)
    return [name] if file_system.get_file_info(f"{root}/{name}").type == fs.FileType.File else []


def _versions(file_system: fs.FileSystem, root: str) -> list[int]:
    stems = (info.base_name.removesuffix(".json") for info in files.entries(file_system, f"{root}/{FOLDER}"))
    return sorted(int(stem) for stem in stems if stem.isdigit())


def _write(path: str, version: int, checksums: Mapping[str, str]) -> None:
    file_system, root = files.filesystem(path)
    if not object_store.is_object(path):  # it has no folders: Arrow would put an object for each level of the path
        file_system.create_dir(f"{root}/{FOLDER}", recursive=True)
    own = hashlib.sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest()
    content = json.dumps({"files": checksums, "sha256": own}, sort_keys=True).encode()
    files.replace(f"{path}/{FOLDER}/{version}.json", content)


def _parsed(content: bytes) -> dict[str, str] | None:
    """The checksums of a file; None if it does not have the checksum that it names."""
    try:
        stored = json.loads(content)
        checksums: dict[str, str] = stored["files"]
        own = hashlib.sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest()
    except (ValueError, KeyError, TypeError):
        return None
    return checksums if own == stored.get("sha256") else None
