"""Runs verbs as processes, as an operator or a scheduler does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import Refused, TryAgain
from infra.local import local_processes
from infra.settings import Settings


@dataclass(frozen=True)
class RunningVerb:
    """A started verb: its arguments, its process, its log, and its start on ``time.monotonic``."""

    words: tuple[str, ...]
    child: subprocess.Popen[bytes]
    log: Path
    began: float


def arguments(config: Path, *words: str) -> list[str]:
    """The arguments of a verb's process, for an instance with these settings."""
    return [sys.executable, "-m", "cli", "-c", str(config), *words]


def failed(words: Sequence[str], said: str, where: Path) -> Refused:
    """The error of a verb that ended with another exit code than 0; ``said`` is the end of what it printed."""
    return Refused(f"`lk {' '.join(words)}` failed:{said}", where=str(where), fix="read this log file")


def start(settings: Settings, config: Path, *words: str) -> RunningVerb:
    """Starts a verb; its output goes to a log of the instance."""
    log = settings.log_dir / f"{words[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        child = subprocess.Popen(arguments(config, *words), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    return RunningVerb(words, child, log, time.monotonic())


def ended(verb: RunningVerb) -> bool:
    """Whether it has ended. Raises Refused with its last lines if it failed."""
    code = verb.child.poll()
    if code:
        raise failed(verb.words, local_processes.below_message(verb.log, 6), verb.log)
    return code is not None


def wait_until_ended(verb: RunningVerb) -> None:
    """Waits until it has ended. Raises Refused with its last lines if it failed."""
    verb.child.wait(900)
    ended(verb)


def run(settings: Settings, config: Path, *words: str) -> Any:
    """Runs a verb with --json and returns the parsed output.

    Raises Refused with the output if it failed, and TryAgain if the verb asks to be run again.
    """
    argv = arguments(config, *words, "--json")
    process = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if process.returncode:
        error = failed(words, f" {(process.stdout + process.stderr).strip()[-2_000:]}", settings.log_dir)
        raise (
            TryAgain(error.what, where=error.where, fix="run it again")
            if process.returncode == TryAgain.exit_code
            else error
        )
    return json.loads(process.stdout)
