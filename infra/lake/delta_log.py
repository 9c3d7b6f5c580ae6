"""The files of a Delta log: one entry for each commit, and checkpoints."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import fs

from infra.lake import files

FOLDER = "_delta_log"
LAST = f"{FOLDER}/_last_checkpoint"
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint.*\.parquet")
_ENTRY = re.compile(r"(\d{20})\.json")


def entry(version: int) -> str:
    """The path of the entry of a commit, below that of the table."""
    return f"{FOLDER}/{version:020d}.json"


def checkpoint(version: int) -> str:
    """The path of a checkpoint, below that of the table."""
    return f"{FOLDER}/{version:020d}.checkpoint.parquet"


def entry_version(path: str) -> int | None:
    """The version of an entry by its path; None for other files."""
    return _version(_ENTRY, path)


def checkpoint_version(path: str) -> int | None:
    """The version of a checkpoint by its path; None for other files."""
    return _version(_CHECKPOINT, path)


def last_checkpoint(file_system: fs.FileSystem, root: str) -> int:
    """The version of the last checkpoint of the table at ``root``; -1 without one."""
    try:
        with file_system.open_input_stream(f"{root}/{LAST}") as stream:
            return int(json.loads(stream.read())["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        versions = map(checkpoint_version, listed(file_system, root))
        return max((version for version in versions if version is not None), default=-1)


def added(entry: bytes) -> list[str]:
    """The paths of the data files that a commit added, from the content of its entry."""
    actions = [json.loads(line) for line in entry.splitlines()]
    return [unquote(action["add"]["path"]) for action in actions if "add" in action]


def live_files(opened: DeltaTable) -> dict[str, int]:
    """The size in bytes of each data file of an open table, by its path below the table's."""
    actions = pa.table(opened.get_add_actions())
    return dict(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))


def listed(file_system: fs.FileSystem, root: str) -> set[str]:
    """The paths of all files of the log, below that of the table."""
    infos = files.entries(file_system, f"{root}/{FOLDER}")
    return {f"{FOLDER}/{info.base_name}" for info in infos if info.type == fs.FileType.File}


def _version(pattern: re.Pattern[str], path: str) -> int | None:
    match = pattern.fullmatch(path.removeprefix(f"{FOLDER}/"))
    return int(match[1]) if match else None
