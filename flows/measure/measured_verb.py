"""Verbs as processes, with their result, their time and what they used."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flows.measure import run_verb
from flows.measure.fresh_instance import FreshInstance
from infra.local import local_processes
from infra.local.resource_usage import ResourceUsage, UsageMonitor

_PATIENCE = 4 * 3_600.0  # a replay of a hundred million records is long
# No state file records a verb, so whoever measures its memory finds it here.
_running: set[int] = set()


@dataclass(frozen=True)
class MeasuredVerb:
    """A verb that ended well: what it printed with ``--json``, its seconds, and the CPU and disk that it used."""

    output: Any
    seconds: float
    usage: ResourceUsage


def measured_verb(instance: FreshInstance, *words: str) -> MeasuredVerb:
    """Runs a verb, as an operator does. Raises Refused with its last lines if it failed."""
    logs = instance.settings.log_dir
    logs.mkdir(parents=True, exist_ok=True)
    output, log = logs / "measured-verb.json", logs / f"measured-{words[0]}.log"
    argv = run_verb.arguments(instance.config, *words, "--json")
    began = time.monotonic()
    with output.open("wb") as out, log.open("wb") as err:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        monitor = UsageMonitor(child.pid)
        with _running_as(child.pid):
            code = child.wait(_PATIENCE)
    seconds = time.monotonic() - began
    if code:
        raise run_verb.failed(words, "".join(local_processes.below_message(file, 12) for file in (output, log)), logs)
    return MeasuredVerb(json.loads(output.read_text("utf-8")), seconds, monitor.last)


def running_pids() -> tuple[int, ...]:
    """The processes of the measured verbs that run now, without their descendants."""
    return tuple(_running)


@contextmanager
def _running_as(pid: int) -> Iterator[None]:
    _running.add(pid)
    try:
        yield
    finally:
        _running.discard(pid)
