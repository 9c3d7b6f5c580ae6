"""Runs ``lk`` in its own process or in this one, and returns its output and exit code."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cli.root import run
from infra.faults import VARIABLE
from infra.project_files import ROOT
from tests.support.suite.machine_speed import patient


@dataclass(frozen=True)
class Done:
    """A finished command. A negative ``code`` is the signal that killed it."""

    command: str
    code: int
    out: str
    err: str

    def ok(self) -> Done:
        """Returns itself. Fails with the output unless the exit code is 0."""
        assert self.code == 0, self.said
        return self

    @property
    def json(self) -> Any:
        """The parsed output of --json."""
        return json.loads(self.out)

    @property
    def said(self) -> str:
        """The command, its exit code and its output."""
        return f"`lk {self.command}` ended with {self.code}\n{self.out}\n{self.err}"


@dataclass(frozen=True)
class Running:
    """A command in its own session, so that a signal to its process group reaches its JVM and no other process."""

    command: str
    child: subprocess.Popen[str]

    def done(self, seconds: float = 300.0) -> Done:
        """Waits for the end of the command. After ``seconds``, on a slow machine later, kills it and fails."""
        limit = patient(seconds)
        try:
            out, err = self.child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            out, err = self.child.communicate()
            raise AssertionError(f"`lk {self.command}` did not end within {limit:.0f} s\n{out}\n{err}") from None
        return Done(self.command, self.child.returncode, out, err)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to all processes of the command."""
        os.killpg(self.child.pid, number)


def spawn(config: Path, *words: str, fault: str | None = None, typed: str | None = None) -> Running:
    """Starts ``lk WORDS``. ``fault`` is the value of LK_FAULT, ``typed`` its standard input."""
    child = subprocess.Popen(
        [sys.executable, "-m", "cli", "-c", str(config), *words],
        cwd=ROOT,
        env=environment(fault),
        stdin=subprocess.DEVNULL if typed is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if child.stdin:
        child.stdin.write(typed or "")
        child.stdin.flush()
    return Running(" ".join(words), child)


def lk(config: Path, *words: str, fault: str | None = None, typed: str | None = None, seconds: float = 300.0) -> Done:
    """Runs ``lk WORDS`` to its end."""
    return spawn(config, *words, fault=fault, typed=typed).done(seconds)


def here(config: Path, *words: str) -> Done:
    """Runs ``lk WORDS`` in this process and its Spark session. Starting a JVM costs more than most verbs."""
    out, err = io.StringIO(), io.StringIO()
    before = os.umask(0o077)  # as in a process of its own
    try:
        with patch.dict(os.environ, environment(), clear=True), redirect_stdout(out), redirect_stderr(err):
            code = run(["-c", str(config), *words])
    finally:
        os.umask(before)
    return Done(" ".join(words), code, out.getvalue(), err.getvalue())


def environment(fault: str | None = None) -> dict[str, str]:
    """This process's environment without the project's settings, so that only the settings file counts."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("LK_") or name == "LK_CACHE"}
    return ours | ({VARIABLE: fault} if fault else {})


def write_config(path: Path, values: dict[str, Any]) -> Path:
    """Writes a settings file and returns its path."""
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()), "utf-8")
    return path
