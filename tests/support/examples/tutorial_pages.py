"""Runs a tutorial page: its ``sh`` blocks as printed, in order, in one shell, and its ``python`` blocks.

A block ``output`` after a block is compared with what that printed. In it, a line that is only ``…`` stands for any
lines, and ``…`` inside a line for any text. A command that ends with ``# exit N`` must end with that code, any other
with 0. Blocks of other kinds are not run, such as ``text`` for what cannot run here.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.project_files import ROOT

_BLOCK = re.compile(r"^```(sh|python|output)\n(.*?)^```$", re.M | re.S)
_FENCE = re.compile(r"^```(.*)$", re.M)
_KINDS = {"sh", "python", "output", "text"}
_EXIT = re.compile(r"#(?:.*\W)?exit ([0-9]+)\s*$")
_END = "end-of-the-command"
LONGEST = 900.0  # seconds of one command: a switch took seven minutes on a machine with 15 processes per core


@dataclass(frozen=True)
class Step:
    """Commands or a Python program of a page, and the output that the page prints for them; None if it prints none."""

    kind: str
    text: str
    output: str | None


def steps(page: str) -> list[Step]:
    """The blocks of a page that are run, in order. Fails for an output without a program, and for an unknown kind."""
    unknown = set(_FENCE.findall(page)[::2]) - _KINDS  # each second fence ends a block
    assert not unknown, f"blocks that nobody runs: {unknown}"
    blocks = [(match[1], match[2]) for match in _BLOCK.finditer(page)]
    parsed: list[Step] = []
    for kind, text in blocks:
        if kind != "output":
            parsed.append(Step(kind, text, None))
            continue
        assert parsed, "the page begins with an output"
        assert parsed[-1].output is None, "two outputs of one block"
        parsed[-1] = Step(parsed[-1].kind, parsed[-1].text, text)
    return parsed


def commands(block: str) -> list[str]:
    """The commands of a block; a line that ends with a backslash goes on in the next one."""
    texts = re.findall(r"^(?:.*\\\n)*.*$", block, re.M)
    return [text for text in texts if text.strip() and not text.lstrip().startswith("#")]


def expected_code(command: str) -> int:
    """The exit code that the page announces for a command."""
    match = _EXIT.search(command)
    return int(match[1]) if match else 0


def same_output(expected: str, actual: str) -> bool:
    """Whether an output is what the page prints, apart from spaces at the ends of lines."""
    lines = [line.rstrip() for line in expected.strip("\n").splitlines()]
    patterns = ["(?:.*\n)*?" if line.strip() == "…" else _line_pattern(line) + "\n" for line in lines]
    text = "".join(f"{line.rstrip()}\n" for line in actual.strip("\n").splitlines())
    return re.fullmatch("".join(patterns), text) is not None


def _line_pattern(line: str) -> str:
    return ".*?".join(re.escape(part) for part in line.split("…"))


@contextmanager
def clone(folder: Path, environment: Mapping[str, str]) -> Iterator[Shell]:
    """A shell in a copy of the files that git tracks, with ``lk`` and ``python``. Stops its servers at the end."""
    copy = folder / "clone"
    for name in _tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    binaries = folder / "bin"
    binaries.mkdir()
    for program, words in (("lk", "-P -m cli"), ("python", "")):
        path = binaries / program
        path.write_text(f'#!/bin/sh\nPYTHONPATH="{copy}" exec "{sys.executable}" {words} "$@"\n', "utf-8")
        path.chmod(0o755)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("LK_") or name == "LK_CACHE"}
    ours |= {**environment, "PATH": f"{binaries}:{os.environ['PATH']}", "COLUMNS": "200"}
    shell = Shell(copy, ours)
    try:
        yield shell
    finally:
        shell.close()  # it may wait for a command that does not end
        subprocess.run([binaries / "lk", "down"], cwd=copy, env=ours, check=True, timeout=300)


def _tracked() -> list[str]:
    """The files that git tracks, as they are in the working tree."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


class Shell:
    """One bash, in which each command sees what the commands before it have exported."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._bash = subprocess.Popen(
            ["bash", "--norc", "-s"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, command: str, seconds: float = LONGEST) -> tuple[int, str]:
        """The exit code of a command and what it printed. Fails after ``seconds``."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"{{ {command}\n}} < /dev/null; printf '\\n%s %s\\n' {_END} $?\n".encode())
        self._bash.stdin.flush()
        printed, deadline = b"", time.monotonic() + seconds
        while not (match := re.search(rf"^{_END} (\d+)$".encode(), printed, re.M)):
            ready, _, _ = select.select([self._bash.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._bash.stdout.fileno(), 65_536) if ready else b""
            if not more:
                self.close()
                raise AssertionError(f"{command}: no end within {seconds:.0f} s\n{printed.decode(errors='replace')}")
            printed += more
        return int(match[1]), printed[: match.start()].decode(errors="replace").removesuffix("\n")

    def close(self) -> None:
        """Ends the shell and the command that it waits for; servers are in sessions of their own."""
        if self._bash.poll() is None:
            os.killpg(self._bash.pid, signal.SIGKILL)
            self._bash.wait()


def run_page(page: str, shell: Shell, replaced: Mapping[str, str]) -> int:
    """Runs every step; returns the number of commands and programs. Fails at the first that is not as printed.

    ``replaced`` maps a text of the page, such as a port, to the text that is run instead of it.
    """
    for before, after in replaced.items():
        page = page.replace(before, after)
    count = 0
    for step in steps(page):
        if step.kind == "python":
            program = shell.folder / "step.py"
            program.write_text(step.text, "utf-8")
            texts = ["python step.py"]
        else:
            texts = commands(step.text)
        outputs = []
        for text in texts:
            code, printed = shell.run(text)
            outputs.append(printed)
            count += 1
            assert code == expected_code(text), f"{text}\nended with {code}, not {expected_code(text)}:\n{printed}"
        actual = "\n".join(outputs)
        if step.output is not None:
            assert same_output(step.output, actual), f"{step.text}\nprinted:\n{actual}\nthe page has:\n{step.output}"
    return count
