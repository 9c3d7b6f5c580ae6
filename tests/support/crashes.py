"""Crashes inside the tests' own process: a step that raises, and a thread that stands still at a step."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from pyspark.errors import StreamingQueryException

from infra import faults
from infra.settings import Settings


@contextmanager
def crash_at(settings: Settings, point: str, hit: int = 1) -> Iterator[None]:
    """The block must end in a crash at this step; fails when the step is not reached."""
    (settings.data / faults.MARKER).touch()
    proof = settings.data / "faults" / point
    proof.unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(faults.VARIABLE, f"{point}:{hit}:raise")
        faults.arm(settings)
        with pytest.raises((faults.Injected, StreamingQueryException)):
            yield
    faults.arm(settings)
    assert proof.read_text("utf-8") == f"raise {os.getpid()} hit {hit}\n"
    proof.unlink()


@dataclass
class Held:
    """A thread that reaches a step waits there until it is released."""

    point: str
    hit: int
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    hits: int = 0

    def reach(self, point: str) -> None:
        """What is called at every step, instead of ``faults.reach``."""
        if point != self.point:
            return
        self.hits += 1
        if self.hits == self.hit:
            self.reached.set()
            assert self.released.wait(120), f"nobody released {point}"


@contextmanager
def held_at(point: str, hit: int = 1) -> Iterator[Held]:
    """The first thread that reaches this step stands still until the block releases it, or ends."""
    assert point in faults.POINTS
    held_thread = Held(point, hit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "reach", held_thread.reach)
        try:
            yield held_thread
        finally:
            held_thread.released.set()
