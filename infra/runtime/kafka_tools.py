"""Runs the command-line tools that come with Kafka, for what its Python client cannot ask."""

from __future__ import annotations

import subprocess

from infra.runtime import jars
from infra.runtime.java import find_java
from infra.settings import Settings

_SECONDS = 60
_LINES = 3


def java_command(settings: Settings) -> tuple[str, ...]:
    """The command of a Java that has Kafka's classes, without the name of one."""
    return (str(find_java(settings) / "bin" / "java"), "-cp", f"{jars.ensure_jars(settings, 'kafka')}/*")


def failure(settings: Settings, *words: str, stdin: str = "") -> str:
    """Runs a tool, a class with its arguments; returns the last lines of what it printed if it failed, else ""."""
    argv = [*java_command(settings), *words]
    try:
        process = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {_SECONDS} s"
    if not process.returncode:
        return ""
    printed = process.stderr.strip() or process.stdout.strip() or f"exit code {process.returncode}"
    return " ".join(printed.splitlines()[-_LINES:])
