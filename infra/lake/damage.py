"""Damage of a Delta table: files of its rows and of its log that are missing, cut short, or have other content.

Delta's readers take an empty log entry for a commit without changes, and a log without its last entry for an older
version; Spark takes an empty data file for one without rows. So what a verb relies on is checked before it is read.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyarrow import fs

from core.errors import REPAIR, LkError, Refused
from infra.lake import checksums, delta_log, files
from infra.lake.object_store import delta_options, uri
from infra.library_errors import first_line

_MISSING = "is missing"
_SEARCHED = 256 * 1024 * 1024  # bytes of a table that a verb reads to name what it failed to read


@dataclass(frozen=True)
class Damage:
    """A damaged file, and what is wrong with it, such as "is empty"."""

    path: str
    what: str


@dataclass(frozen=True)
class Scrubbed:
    """The damage of one table, the number of files that were read, and how many that readers need had no checksum."""

    damages: tuple[Damage, ...]
    files: int
    without_checksum: int


def refusal(damages: Sequence[Damage]) -> Refused:
    """The error of a verb that would have to read damaged files."""
    first, more = damages[0], f", and {len(damages) - 1} more are damaged" if len(damages) > 1 else ""
    return Refused(f"a file of the lake {first.what}{more}", where=first.path, fix=REPAIR)


@contextlib.contextmanager
def naming_damage(path: str) -> Iterator[None]:
    """Raises Refused, which names the damaged files, when the block fails to read the table at ``path``."""
    try:
        yield
    except TableNotFoundError:
        raise
    except (OSError, pa.ArrowException, DeltaError):
        damages = _damages(path)
        if not damages:
            raise
        raise refusal(damages) from None


def require_whole_log(path: str, opened: DeltaTable) -> None:
    """Raises Refused when an entry of the log since its last checkpoint is empty or missing."""
    file_system, root = files.filesystem(path)
    for attempt in (1, 2):
        checkpoint = delta_log.last_checkpoint(file_system, root)
        last = max(opened.version(), checksums.last_version(path))
        damages = _wrong_sizes(path, dict.fromkeys(map(delta_log.entry, range(checkpoint + 1, last + 1))))
        if not damages:
            return
        # Another process may have written a checkpoint meanwhile, and deleted the entries before it.
        if attempt == 2 or checkpoint == delta_log.last_checkpoint(file_system, root):
            raise refusal(damages)


def require_files(path: str, sizes: Mapping[str, int]) -> None:
    """Raises Refused when a data file is missing or does not have the size that the Delta log names."""
    damages = _wrong_sizes(path, sizes)
    if damages:
        raise refusal(damages)


def require_content(path: str, names: Iterable[str]) -> None:
    """Raises Refused when a file has other content than its checksum names; one without a checksum passes.

    For files whose rows are about to be written again: the new files get checksums of their own, so that damage in
    them would never be found.
    """
    file_system, root = files.filesystem(path)
    stored, _ = checksums.read(path)
    wrong = {name: _wrong(file_system, f"{root}/{name}", None, stored[name]) for name in names if name in stored}
    damages = [Damage(f"{path}/{name}", what) for name, what in sorted(wrong.items()) if what]
    if damages:
        raise refusal(damages)


def require_log_not_lost(path: str) -> None:
    """Raises Refused when a folder without a Delta table has checksums of one: its log was lost."""
    version = checksums.last_version(path)
    if version >= 0:
        raise refusal([Damage(f"{path}/{delta_log.entry(version)}", _MISSING)])


def scrub(path: str) -> Scrubbed:
    """Reads every file of the table at ``path`` and compares it with its checksum; a file without one is decoded."""
    file_system, root = files.filesystem(path)
    stored, damaged = checksums.read(path)
    needed, old = _log_files(file_system, root, stored)
    log = {name: _wrong(file_system, f"{root}/{name}", None, stored.get(name)) for name in sorted(needed | old)}
    # An old entry may have been deleted meanwhile.
    wrong = {name: what for name, what in log.items() if what and (what != _MISSING or name in needed)}
    sizes, reason = _live_sizes(path)
    if wrong or reason:  # then the log does not tell which files are live
        sizes |= {name: sizes.get(name) for name in stored if not name.startswith(f"{delta_log.FOLDER}/")}
    wrong |= {delta_log.FOLDER: reason} if reason and not wrong else {}
    rows = {name: _wrong(file_system, f"{root}/{name}", size, stored.get(name)) for name, size in sizes.items()}
    wrong |= {name: what for name, what in rows.items() if what}
    wrong |= dict.fromkeys(damaged, "is damaged: it has no valid checksums")
    damages = tuple(Damage(f"{path}/{name}", what) for name, what in sorted(wrong.items()))
    return Scrubbed(damages, len(log) + len(rows), len({*needed, *rows} - stored.keys()))


def restore_log(path: str, *, unless: Mapping[str, str]) -> list[str]:
    """Replaces empty entries of the log by entries without changes, but for those in ``unless``; returns their paths.

    Power was lost before they were on the disk, so nobody was told that they were committed. Empty checkpoints and
    files of checksums are deleted: what they replaced is deleted only after they are on the disk.
    """
    file_system, root = files.filesystem(path)
    needed, old = _log_files(file_system, root, {})
    lost = _empty(file_system, root, (needed | old) - unless.keys())
    for name in lost:
        if delta_log.entry_version(name) is not None:
            files.replace(f"{path}/{name}", b'{"commitInfo":{"operation":"LOST"}}\n')
    useless = [name for name in lost if delta_log.entry_version(name) is None]
    # The file that names the last checkpoint may name one of these; without it, the log is listed.
    useless += [delta_log.LAST] if useless and delta_log.LAST in old - set(useless) else []
    useless += (unread := _empty(file_system, root, checksums.listed(path)))
    for name in useless:
        file_system.delete_file(f"{root}/{name}")
    return [f"{path}/{name}" for name in [*lost, *unread]]


def _empty(file_system: fs.FileSystem, root: str, names: Iterable[str]) -> list[str]:
    """The files that exist and are empty, sorted."""
    ordered = sorted(names)
    infos = file_system.get_file_info([f"{root}/{name}" for name in ordered])
    return [name for name, info in zip(ordered, infos, strict=True) if info.type == fs.FileType.File and not info.size]


def _damages(path: str) -> Sequence[Damage]:
    """The damage of a table; of a large one, only what its log and the sizes of its files show."""
    with contextlib.suppress(OSError, LkError):
        sizes, _ = _live_sizes(path)
        if sum(size or 0 for size in sizes.values()) <= _SEARCHED:
            return scrub(path).damages
        return _wrong_sizes(path, sizes)
    return ()


def _live_sizes(path: str) -> tuple[dict[str, int | None], str]:
    """The size of each data file by the log, and why the log cannot be read, if it cannot."""
    try:
        return dict(delta_log.live_files(DeltaTable(uri(path), storage_options=delta_options(path)))), ""
    except (DeltaError, OSError) as e:
        return {}, f"cannot be read: {first_line(str(e) or type(e).__name__)}"


def _log_files(file_system: fs.FileSystem, root: str, stored: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """The files of the log that readers need, the last checkpoint and all entries since; and older ones."""
    listed, last = delta_log.listed(file_system, root), delta_log.last_checkpoint(file_system, root)
    versions = {version for name in {*listed, *stored} if (version := delta_log.entry_version(name)) is not None}
    needed = set(map(delta_log.entry, range(last + 1, max(versions, default=-1) + 1)))
    checkpoints = {name: version for name in listed if (version := delta_log.checkpoint_version(name)) is not None}
    if last >= 0 and last not in checkpoints.values():
        needed.add(delta_log.checkpoint(last))
    entries = {name for name in listed if delta_log.entry_version(name) is not None}
    return needed, {*entries, *checkpoints, *(listed & {delta_log.LAST})} - needed


def _wrong_sizes(path: str, sizes: Mapping[str, int | None]) -> list[Damage]:
    file_system, root = files.filesystem(path)
    infos = file_system.get_file_info([f"{root}/{name}" for name in sizes])
    wrong = {name: _wrong_size(info, sizes[name]) for name, info in zip(sizes, infos, strict=True)}
    return [Damage(f"{path}/{name}", what) for name, what in sorted(wrong.items()) if what]


def _wrong(file_system: fs.FileSystem, path: str, size: int | None, checksum: str | None) -> str:
    """What is wrong with a file; empty when nothing is."""
    what = _wrong_size(file_system.get_file_info(path), size)
    if what:
        return what
    try:
        if checksum is None:
            _decode(file_system, path)
        elif checksums.checksum_of(file_system, path) != checksum:
            return "has other content than was written"
    except FileNotFoundError:
        return ""  # deleted meanwhile, as what is older than the retention is
    except (OSError, pa.ArrowException, ValueError) as e:
        return f"cannot be read: {first_line(str(e) or type(e).__name__)}"
    return ""


def _wrong_size(info: fs.FileInfo, size: int | None) -> str:
    if info.type != fs.FileType.File:
        return _MISSING
    if info.size == 0:
        return "is empty"
    return f"has {info.size:,} of {size:,} bytes" if size is not None and info.size != size else ""


def _decode(file_system: fs.FileSystem, path: str) -> None:
    """Reads a file whole. Raises ValueError, OSError or ArrowException when it cannot be decoded."""
    if path.endswith(".parquet"):
        with file_system.open_input_file(path) as source:
            for _ in pq.ParquetFile(source, page_checksum_verification=True).iter_batches():
                pass
        return
    for line in checksums.read_file(file_system, path).splitlines():
        json.loads(line)
