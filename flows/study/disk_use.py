"""Bytes on disk of each part of an instance, with the log included."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from core.evidence.measurement import TOTAL, Measurement
from flows.measure import load
from flows.study.subject import Subject
from infra.lake import files
from infra.settings import Settings

_PARTS = ("archive", "batch", "speed", "control")  # folders of the lake
_NAMES = {"batch": "builds", "speed": "partial rows", "control": "control tables"}
_EVERY = 1.0


def disk_bytes(settings: Settings) -> dict[str, int]:
    """Bytes by part: the log of all brokers, archive, builds, partial rows, control tables, checkpoints."""
    log = sum(files.size(str(broker.folder)) for broker in settings.brokers)
    lake = {_NAMES.get(part, part): files.size(f"{settings.lake_root}/{part}") for part in _PARTS}
    return {"log": log, **lake, "checkpoints": files.size(settings.checkpoint_root)}


def disk_rows(subject: Subject, situation: str, sizes: dict[str, int] | None = None) -> list[Measurement]:
    """The rows of the question ``disk``, in MB, by part and in all."""
    by_part = disk_bytes(subject.settings) if sizes is None else sizes
    rows = [subject.row("disk", size / 10**6, situation=situation, part=part) for part, size in by_part.items()]
    return [*rows, subject.row("disk", sum(by_part.values()) / 10**6, situation=situation, part=TOTAL)]


class Peaks:
    """The highest memory of all processes, and the parts of the disk when it was fullest, while a block ran."""

    def __init__(self) -> None:
        self.memory = 0
        self.disk: dict[str, int] = {}

    def look(self, settings: Settings) -> None:
        """Measures once."""
        self.memory = max(self.memory, load.memory(settings))
        with contextlib.suppress(OSError):  # a file was deleted while it was counted
            self.disk = max(self.disk, disk_bytes(settings), key=lambda sizes: sum(sizes.values()))


@contextmanager
def peaks(settings: Settings) -> Iterator[Peaks]:
    """Measures once a second until the block ends."""
    highest = Peaks()

    def watch(stop: threading.Event) -> None:
        while not stop.wait(_EVERY):
            highest.look(settings)

    with load.in_background(watch):
        yield highest
