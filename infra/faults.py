"""Fault points: places at which a test can kill, pause or fail this process. Outside tests they do nothing.

A fault needs both the environment variable ``LK_FAULT=<point>[:<nth hit>]:<kill|pause|raise>`` and the file
TEST_INSTANCE in the data folder. Before it acts, the fault writes a proof to ``<data>/faults/<point>``.

A point is ``<protocol>.<step>_<place>``. The step's number is that of the list of steps in the protocol's docstring:
``speed`` in speed/epoch/commit.py, ``batch`` in batch/__init__.py, ``serving`` in serving/replace_views.py, ``replay``
in speed/replay_state.py, ``route`` and ``handover`` in speed/routes, ``redrive`` in speed/quarantine/redrive.py.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from core.errors import Usage
from infra.settings import Settings

MARKER = "TEST_INSTANCE"
VARIABLE = "LK_FAULT"
POINTS = (
    "speed.0_before_epoch",
    "speed.1_after_compute",
    "speed.2_after_quarantine",
    "speed.3_before_view",
    "speed.3_before_units",
    "speed.4_before_manifest",
    "speed.4_after_manifest",
    "speed.5_after_group",
    "speed.6_in_fold",
    "speed.6_in_merge",
    "speed.6_after_merge",
    "speed.6_after_maintenance",
    "replay.0_before_start",
    "replay.1_before_prefix",
    "replay.1_before_prefix_manifest",
    "replay.2_before_compare",
    "replay.2_in_compare",
    "replay.3_before_switch",
    "route.0_before_epoch",
    "route.1_before_commit",
    "route.1_after_commit",
    "route.2_after_epoch",
    "handover.0_before_handover",
    "handover.1_in_handover",
    "handover.2_before_owner",
    "handover.2_after_owner",
    "redrive.0_before_intent",
    "redrive.1_in_send",
    "redrive.2_before_done",
    "batch.0_before_claim",
    "batch.0_after_claim",
    "batch.1_before_land",
    "batch.1_in_land",
    "batch.1_after_land",
    "batch.2_in_build",
    "batch.2_before_built",
    "batch.2_after_built",
    "batch.3_in_gate",
    "batch.3_before_passed",
    "serving.0_before_intent",
    "serving.0_after_intent",
    "serving.1_before_view",
    "serving.1_between_views",
    "serving.2_before_done",
    "serving.2_after_done",
)
_ACTIONS = ("kill", "pause", "raise")


class Injected(Exception):
    """Raised by a fault with the action ``raise``; only tests catch it."""


@dataclass
class _Fault:
    point: str
    nth: int
    action: str
    proof: Path
    hits: int = 0


_armed: _Fault | None = None
_warned = False


def arm(settings: Settings) -> None:
    """Arms the fault in LK_FAULT; call it once per process. Raises Usage for an unknown point or action."""
    global _armed
    _armed = None
    text = os.environ.get(VARIABLE)
    if not text:
        return
    if not (settings.data / MARKER).is_file():
        _warn(settings)
        return
    point, nth, action = _parsed(text)
    _armed = _Fault(point, nth, action, proof(settings, point))


def proof(settings: Settings, point: str) -> Path:
    """The file that a fault at this point writes before it acts."""
    return settings.data / "faults" / point


def at(point: str) -> None:
    """Marks that the process is at a fault point; acts when a test armed it."""
    if point not in POINTS:
        raise Usage(f"unknown fault point {point!r}", fix="add it to infra.faults.POINTS")
    fault = _armed
    if fault is None or fault.point != point:
        return
    fault.hits += 1
    if fault.hits == fault.nth:
        _prove(fault)
        _act(fault)


def _parsed(text: str) -> tuple[str, int, str]:
    parts = text.split(":")
    point, action = parts[0], parts[-1]
    nth = parts[1] if len(parts) == 3 else "1"
    if len(parts) not in (2, 3) or point not in POINTS or action not in _ACTIONS or not nth.isdigit() or int(nth) < 1:
        raise Usage(
            f"{VARIABLE}={text!r} is not a fault",
            fix=f"write <point>[:<nth hit>]:<{'|'.join(_ACTIONS)}>; points are {', '.join(POINTS)}",
        )
    return point, int(nth), action


def _prove(fault: _Fault) -> None:
    fault.proof.parent.mkdir(parents=True, exist_ok=True)
    with fault.proof.open("w", encoding="utf-8") as out:
        out.write(f"{fault.action} {os.getpid()} hit {fault.hits}\n")
        out.flush()
        os.fsync(out.fileno())


def _act(fault: _Fault) -> None:
    if fault.action == "raise":
        raise Injected(fault.point)
    if fault.action == "kill":
        os.killpg(os.getpgrp(), signal.SIGKILL)
    else:
        _pause()


def _pause() -> None:
    """Stops the process group. This thread stops itself: a signal to the process could leave it running a moment."""
    import psutil

    pids = [process.pid for process in psutil.process_iter() if process.pid != os.getpid()]
    others = [pid for pid in pids if _group(pid) == os.getpgrp()]
    for pid in others:
        os.kill(pid, signal.SIGSTOP)
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _warn(settings: Settings) -> None:
    global _warned
    if not _warned:
        print(f"lk: {VARIABLE} is ignored: {settings.data} is not a test instance", file=sys.stderr)
    _warned = True
