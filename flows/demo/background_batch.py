"""`lk batch` as a process of its own while events flow, as an operator or a scheduler runs it."""

from __future__ import annotations

import time
from pathlib import Path

from flows.demo import full_computation
from flows.demo.full_computation import FullComputation
from flows.measure import run_verb
from infra.control.claims import read_claims
from infra.local.resource_usage import UsageMonitor
from infra.settings import Settings


class BackgroundBatch:
    """The first batch of an instance; ``due`` says in words when it starts."""

    def __init__(self, settings: Settings, config: Path, due: str) -> None:
        self._settings, self._config, self._due = settings, config, due
        self._verb: run_verb.RunningVerb | None = None
        self._usage: UsageMonitor | None = None
        self._began = self._seconds = 0.0

    def start(self) -> None:
        """Starts the process."""
        self._began = time.time()
        self._verb = run_verb.start(self._settings, self._config, "batch")
        self._usage = UsageMonitor(self._verb.child.pid)

    @property
    def state(self) -> str:
        """Its state in words: when it starts, its steps while it runs, when it published."""
        if self._verb is None:
            return f"starts {self._due}"
        return f"published after {self._seconds:.0f} s" if self.ended() else "claims, lands, builds, publishes"

    def ended(self) -> bool:
        """Whether it has ended. Raises Refused with its last lines if it failed."""
        if self._verb is None or not run_verb.ended(self._verb):
            return False
        self._seconds = self._seconds or time.monotonic() - self._verb.began
        return True

    def full_computation(self) -> FullComputation:
        """What it used, once it has ended."""
        assert self._usage is not None
        claim = read_claims(self._settings)[-1]
        return full_computation.of_batch(self._settings, claim, self._began, self._seconds, self._usage.last)
