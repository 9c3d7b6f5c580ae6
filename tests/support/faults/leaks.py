"""Where the secrets of an instance are outside their folder: files, arguments and environments of processes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import psutil

from infra.settings import Settings
from infra.settings.local_secrets import FOLDER

ANY_KEY = "PRIVATE KEY"  # what all keys have in common
PROGRAMS = ("kafka.Kafka", "io.trino.server.TrinoServer", "-m cli ui", "speed run")


def leaks(settings: Settings, texts: Sequence[str], since: float) -> list[str]:
    """The files and processes that hold one of the texts, in plain or escaped form.

    Beside the data folder it searches what this user wrote since then (seconds since 1970) into the folders that
    instances share. There, ``ANY_KEY`` may be another instance's.
    """
    forms = _forms(texts)
    shared = _forms([text for text in texts if text != ANY_KEY])
    files = [str(path) for path in _files_of(settings) if _holds(path, forms)]
    files += [str(path) for path in sorted(_shared_files(settings, since)) if _holds(path, shared)]
    process_texts = [text for text in map(_said_by, psutil.process_iter()) if str(settings.data) in text]
    assert [name for name in PROGRAMS if not any(name in text for text in process_texts)] == [], (
        "processes were not found"
    )
    return files + [line for line in process_texts if any(form.decode() in line for form in forms)]


def keys(folder: Path) -> list[str]:
    """A line of each private key in the files of a folder that differs from that of every other key."""
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("*.pem"))]
    return [text.partition(ANY_KEY)[2].splitlines()[2] for text in texts if ANY_KEY in text]


def shared_folders(settings: Settings) -> tuple[Path, ...]:
    """The folders of temporary files, of error reports and of downloads."""
    return Path(tempfile.gettempdir()), Path(click.get_app_dir("lambda-kappa")), settings.cache


def _forms(texts: Sequence[str]) -> list[bytes]:
    return [form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])]


def _holds(path: Path, forms: Sequence[bytes]) -> bool:
    content = _content(path)
    return any(form in content for form in forms)


def _content(path: Path) -> bytes:
    """The content of a file. Empty if it is not a file or a running job has deleted it."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except (FileNotFoundError, PermissionError):
        return b""


def _files_of(settings: Settings) -> list[Path]:
    folder = settings.data / FOLDER
    return [path for path in sorted(_below(settings.data)) if folder not in path.parents]


def _shared_files(settings: Settings, since: float) -> Iterator[Path]:
    """What is new there; what pytest keeps of other tests is left out."""
    for folder in shared_folders(settings):
        for top in folder.iterdir() if folder.is_dir() else ():
            of_tests = top.name.startswith("pytest-of-") or top in settings.data.parents
            if not of_tests and _is_new(top, since):
                yield from (path for path in (_below(top) if top.is_dir() else [top]) if _is_new(path, since))


def _below(folder: Path) -> Iterator[Path]:
    """Every file below. Not rglob: it fails when a job that ends deletes a folder of temporary files."""
    return (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)


def _is_new(path: Path, since: float) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return status.st_uid == os.getuid() and max(status.st_mtime, status.st_ctime) >= since


def _said_by(process: psutil.Process) -> str:
    """The arguments and the environment of a process, which may name the data folder; empty if it is another user's."""
    try:
        return " ".join([*process.cmdline(), *process.environ().values()])
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return ""
