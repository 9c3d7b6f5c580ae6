"""Faults inside the tests' own process: a fault point that raises, and a thread that waits at a fault point."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from pyspark.errors import StreamingQueryException

from infra import faults
from infra.lake import leases
from infra.settings import Settings


@contextmanager
def crash_at(settings: Settings, point: str, hit: int = 1) -> Iterator[None]:
    """Expects the block to crash at this fault point. Fails if the point is not reached."""
    (settings.data / faults.MARKER).touch()
    proof = faults.proof(settings, point)
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
class HeldThread:
    """A thread that waits at a fault point until it is released."""

    point: str
    hit: int
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    hits: int = 0

    def at(self, point: str) -> None:
        """Replaces ``faults.at``, which the project calls at every fault point."""
        if point != self.point:
            return
        self.hits += 1
        if self.hits == self.hit:
            self.reached.set()
            assert self.released.wait(120), f"nobody released {point}"


@contextmanager
def held_at(point: str, hit: int = 1) -> Iterator[HeldThread]:
    """Holds the thread that reaches this fault point until the block releases it or ends."""
    assert point in faults.POINTS
    held_thread = HeldThread(point, hit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "at", held_thread.at)
        try:
            yield held_thread
        finally:
            held_thread.released.set()


@contextmanager
def standing_still(work: Callable[[], object], point: str, hit: int = 1) -> Iterator[tuple[HeldThread, Future[object]]]:
    """Runs ``work`` in a thread and holds the thread at a fault point."""
    with held_at(point, hit) as held_thread, ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            assert held_thread.reached.wait(60), f"{point} was not reached"
            yield held_thread, future
        finally:
            held_thread.released.set()


def taken_over(settings: Settings, lease: str, fenced: Sequence[str] = ()) -> None:
    """Takes over the lease, as if its holder had missed its heartbeats, and releases it."""
    with leases.hold(settings.model_copy(update={"lease_seconds": 0.0}), lease, fenced=fenced):
        pass
