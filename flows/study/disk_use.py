"""The rows of the study about bytes on disk, and the highest memory and disk use while something runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from core.evidence.measurement import TOTAL, Measurement
from flows.disk_bytes import disk_bytes
from flows.measure import load
from flows.measure.measured_verb import running_pids
from flows.study.subject import Subject
from infra.settings import Settings

_EVERY = 1.0  # seconds; the text of the question `memory` says so


def disk_rows(subject: Subject, situation: str, sizes: dict[str, int] | None = None) -> list[Measurement]:
    """The rows of the question ``disk``, in MB, by part and in all."""
    by_part = disk_bytes(subject.settings) if sizes is None else sizes
    rows = [subject.row("disk", size / 10**6, situation=situation, part=part) for part, size in by_part.items()]
    return [*rows, subject.row("disk", sum(by_part.values()) / 10**6, situation=situation, part=TOTAL)]


class Peaks:
    """The highest memory of all processes, and the parts of the disk when it was fullest, while a block ran.

    Memory has the verbs that ran meanwhile: the Spark of a full build is a child of one, and no recorded process.
    """

    def __init__(self) -> None:
        self.memory = 0
        self.disk: dict[str, int] = {}

    def look(self, settings: Settings) -> None:
        """Measures once."""
        self.memory = max(self.memory, load.memory(settings, *running_pids()))
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
