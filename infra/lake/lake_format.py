"""The version of a lake: the file FORMAT at its root says which programs may read it, and which may write it.

It holds the lowest version of a program that can read the lake, and after a space that of one that may write it, if
that is another. Every path of a table is composed after the first check, every lease is taken after the second.
"""

from __future__ import annotations

from pathlib import Path

from pyarrow import fs

from core.errors import Refused
from infra.lake import files, object_store
from infra.settings import Settings

VERSION = 2  # of this program
_AREAS = ("archive", "batch", "speed", "control")
_NEWER = "use the newer program, see docs/runbooks/rolling-upgrade.md"
_OLDER = "use the program version that wrote it, or rebuild a new lake from Kafka: `lk restore`"
_readable: set[str] = set()  # the roots that this process has checked


def require_readable(settings: Settings) -> None:
    """Raises Refused when this program cannot read the lake; checks a lake once in each process."""
    if settings.lake_root in _readable:
        return
    object_store.register_stores(settings)
    if _versions(settings) is not None:
        _readable.add(settings.lake_root)


def exists(settings: Settings) -> bool:
    """Whether there is a lake. Raises Refused when this program cannot read it."""
    object_store.register_stores(settings)
    return _versions(settings) is not None


def require_writable(settings: Settings) -> None:
    """Raises Refused when this program must not write the lake."""
    object_store.register_stores(settings)
    versions = _versions(settings)
    if versions and versions[1] > VERSION:
        raise Refused(
            f"this program writes version {VERSION} of the lake, which needs version {versions[1]}",
            where=_place(settings),
            fix=f"{_NEWER}; this one can only read",
        )


def create(settings: Settings) -> None:
    """Creates a lake of this program's version, unless there is one. Raises Refused for tables without a version."""
    object_store.register_stores(settings)
    if _versions(settings) is not None:
        return
    file_system, root = files.filesystem(settings.lake_root)
    if _has_tables(file_system, root):
        raise _unknown(settings, "no format", _OLDER)
    file_system.create_dir(root, recursive=True)
    files.replace(_place(settings), str(VERSION).encode())
    if settings.lake_is_local:
        files.sync([Path(settings.lake_root, "FORMAT")])


def _versions(settings: Settings) -> tuple[int, int] | None:
    """The lowest versions that may read and write; None without a file. Raises Refused when this one cannot read."""
    file_system, root = files.filesystem(settings.lake_root)
    try:
        with file_system.open_input_stream(f"{root}/FORMAT") as stream:
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    words = text.split()
    if not words and not _has_tables(file_system, root):
        return None  # its writer was killed, or the disk was full
    if not 1 <= len(words) <= 2 or not all(word.isdigit() for word in words):
        raise _unknown(settings, f"format {text[:20]!r}", _OLDER)
    reader, writer = int(words[0]), int(words[-1])
    if reader != VERSION:
        raise _unknown(settings, f"format {text[:20]!r}", _NEWER if reader > VERSION else _OLDER)
    return reader, writer


def _has_tables(file_system: fs.FileSystem, root: str) -> bool:
    return any(file_system.get_file_info(f"{root}/{area}").type == fs.FileType.Directory for area in _AREAS)


def _unknown(settings: Settings, version: str, fix: str) -> Refused:
    return Refused(f"the lake has {version}, this program knows format {VERSION}", where=_place(settings), fix=fix)


def _place(settings: Settings) -> str:
    return f"{settings.lake_root.rstrip('/')}/FORMAT"
