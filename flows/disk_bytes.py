"""Bytes on disk of each part of an instance, with the log included."""

from __future__ import annotations

from infra.lake import files
from infra.settings import Settings

_PARTS = ("archive", "batch", "speed", "control")  # folders of the lake
_NAMES = {"batch": "builds", "speed": "partial rows", "control": "control tables"}


def disk_bytes(settings: Settings) -> dict[str, int]:
    """Bytes by part: the log of all local brokers, archive, builds, partial rows, control tables, checkpoints."""
    log = sum(files.disk_use(str(broker.folder)) for broker in settings.brokers)
    lake = {_NAMES.get(part, part): files.disk_use(f"{settings.lake_root}/{part}") for part in _PARTS}
    return {"log": log, **lake, "checkpoints": files.disk_use(settings.checkpoint_root)}
