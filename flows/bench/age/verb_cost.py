"""Seconds and memory of a verb that runs as a process."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass

import psutil

from flows.measure import run_verb
from flows.measure.live_system import LiveInstance
from infra.local import local_processes

_EVERY = 0.01


@dataclass(frozen=True)
class VerbCost:
    """Seconds from the start of Python to its end, and the most memory meanwhile, in MiB (RSS)."""

    seconds: float
    mebibytes: float


def verb_cost(live: LiveInstance, *words: str, allowed: tuple[int, ...] = (0,)) -> VerbCost:
    """Runs a verb with --json. Raises Refused for an exit code that is not ``allowed``."""
    argv = run_verb.arguments(live.config, *words, "--json")
    began, highest = time.monotonic(), 0
    log = live.settings.log_dir / "bench.log"
    with log.open("wb") as out, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as child:
        watched, pause = psutil.Process(child.pid), threading.Event()
        while child.poll() is None:
            highest = max(highest, _resident(watched))
            pause.wait(_EVERY)
    seconds = time.monotonic() - began
    if child.returncode not in allowed:
        raise run_verb.failed(words, local_processes.below_message(log, 12), log)
    return VerbCost(seconds, highest / 2**20)


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has just ended
        return 0
