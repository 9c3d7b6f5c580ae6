"""Damage of a run's checkpoint: what Spark wrote there, checked against the run's manifest.

Spark keeps the offsets and the commits of the last hundred epochs. The manifest has the same end offsets.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from pyarrow import fs

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from infra.control.manifest import Epoch, read_epochs
from infra.lake import table_paths
from infra.lake.damage import Damage
from infra.lake.files import entries, filesystem
from infra.settings import Settings

KEPT = 100  # epochs, by Spark's default
_Check = Callable[[bytes, Epoch | None], str]


def scrub(settings: Settings, run: Name, last: int = KEPT) -> tuple[Damage, ...]:
    """The damaged files of a run's checkpoint, of its ``last`` epochs; none when there is no checkpoint."""
    place = table_paths.checkpoint(settings, run)
    file_system, root = filesystem(place)
    if file_system.get_file_info(root).type != fs.FileType.Directory:
        return ()
    offsets, commits = _numbers(file_system, f"{root}/offsets"), _numbers(file_system, f"{root}/commits")
    first = max(min(offsets, default=0), max(offsets, default=0) - last + 1)
    epochs = _epochs(settings, run, first)
    planned = range(first, max([*offsets, *epochs], default=-1) + 1)
    finished = range(first, max([*commits, planned.stop - 2], default=-1) + 1)
    checks: dict[str, _Check] = {f"offsets/{number}": _offsets_damage for number in planned}
    checks |= {f"commits/{number}": _commit_damage for number in finished}
    checks |= {"metadata": _metadata_damage} if offsets else {}
    damages = []
    for name, check in checks.items():
        content, number = _content(file_system, f"{root}/{name}"), name.rpartition("/")[2]
        epoch = epochs.get(int(number)) if number.isdigit() else None
        what = "is missing" if content is None else "is empty" if not content else check(content, epoch)
        damages += [Damage(f"{place}/{name}", what)] if what and not _is_old(file_system, root, number) else []
    return tuple(damages)


def _epochs(settings: Settings, run: Name, first: int) -> dict[int, Epoch]:
    """The epochs of the manifest from a number on; none when the manifest itself is damaged."""
    try:
        return {epoch.number: epoch for epoch in read_epochs(settings, run, first)}
    except Refused:
        return {}


def _is_old(file_system: fs.FileSystem, root: str, number: str) -> bool:
    """Whether a running query has deleted this epoch's files meanwhile."""
    return number.isdigit() and int(number) < min(_numbers(file_system, f"{root}/offsets"), default=0)


def _numbers(file_system: fs.FileSystem, folder: str) -> list[int]:
    return [int(info.base_name) for info in entries(file_system, folder) if info.base_name.isdigit()]


def _content(file_system: fs.FileSystem, path: str) -> bytes | None:
    try:
        with file_system.open_input_stream(path) as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None


def _offsets_damage(content: bytes, epoch: Epoch | None) -> str:
    try:
        version, metadata, offsets = content.decode().splitlines()
        end, time = Cut.parse(offsets), int(json.loads(metadata)["batchTimestampMs"])
    except (ValueError, KeyError, TypeError, Refused):
        return "cannot be parsed"
    if version != "v1":
        return "cannot be parsed"
    if epoch and (end, time) != (epoch.end, epoch.batch_time_ms):
        return "has other offsets than the manifest"
    return ""


def _commit_damage(content: bytes, _: Epoch | None) -> str:
    try:
        version, metadata = content.decode().splitlines()
        is_valid = json.loads(metadata)["nextBatchWatermarkMs"] == 0  # no run has a watermark
    except (ValueError, KeyError, TypeError):
        is_valid = False
    return "" if is_valid and version == "v1" else "cannot be parsed"


def _metadata_damage(content: bytes, _: Epoch | None) -> str:
    try:
        return "" if json.loads(content)["id"] else "cannot be parsed"
    except (ValueError, KeyError, TypeError):
        return "cannot be parsed"
