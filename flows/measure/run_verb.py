"""Verbs as processes of their own, as an operator or a scheduler would run them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import Refused
from infra.local import local_processes
from infra.settings import Settings


@dataclass(frozen=True)
class RunningVerb:
    """A verb that was started: its words, its process, where it says what it says, and when on ``time.monotonic``."""

    words: tuple[str, ...]
    child: subprocess.Popen[bytes]
    log: Path
    began: float


def start(settings: Settings, config: Path, *words: str) -> RunningVerb:
    """Starts a verb; what it says is kept in the instance's logs."""
    log = settings.log_dir / f"{words[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        argv = [sys.executable, "-m", "cli", "-c", str(config), *words]
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    return RunningVerb(words, child, log, time.monotonic())


def ended(verb: RunningVerb) -> bool:
    """Whether it is done. Raises Refused with its last lines when it failed."""
    code = verb.child.poll()
    if code:
        said = "\n    ".join(local_processes.last_lines(verb.log, 6))
        raise Refused(f"`lk {' '.join(verb.words)}` failed:\n    {said}", where=str(verb.log), fix="read the log")
    return code is not None


def finished(verb: RunningVerb) -> None:
    """Waits for it. Raises Refused with its last lines when it failed."""
    verb.child.wait(900)
    ended(verb)


def run(settings: Settings, config: Path, *words: str) -> Any:
    """Runs a verb with --json; gives what it printed. Raises Refused with that when it failed."""
    argv = [sys.executable, "-m", "cli", "-c", str(config), *words, "--json"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2_000:]
        raise Refused(f"`lk {' '.join(words)}` failed: {said}", where=str(settings.log_dir), fix="read the logs")
    return json.loads(done.stdout)
