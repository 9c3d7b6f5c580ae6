"""Reads ``infra/runtime/jars.lock``: all downloads that are not Python packages, with size and sha256."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.errors import Refused

LOCK = Path(__file__).with_name("jars.lock")
_LINE = re.compile(r"(?P<set>[a-z]+) (?P<coordinates>[^ :]+:[^ :]+:[^ :]+:[^ :]+) (?P<size>\d+) (?P<sum>[0-9a-f]{64})")
# Becomes part of a path: no separators, and no dot first.
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Artifact:
    """One file to download, with its expected size and sha256."""

    set: str
    group: str
    artifact: str
    version: str
    ext: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        """Its file name in the cache."""
        return f"{self.artifact}-{self.version}.{self.ext}"

    def __str__(self) -> str:
        coordinates = f"{self.group}:{self.artifact}:{self.version}:{self.ext}"
        return f"{self.set} {coordinates} {self.size} {self.sha256}"


def read_lock(path: Path = LOCK) -> tuple[Artifact, ...]:
    """Every entry, in order. Raises Refused naming a malformed or duplicate line."""
    artifacts: dict[tuple[str, str], Artifact] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        artifact = _parsed(line, f"{path}:{number}")
        key = (artifact.set, artifact.file_name)
        if key in artifacts:
            raise Refused(f"{artifact.file_name} is listed twice", where=f"{path}:{number}", fix="remove one line")
        artifacts[key] = artifact
    return tuple(artifacts.values())


def lock_digest(entries: Iterable[Artifact | str]) -> str:
    """A short digest of these entries and names, for the folder's name."""
    return hashlib.sha256("\n".join(map(str, entries)).encode()).hexdigest()[:12]


def is_intact(artifact: Artifact, path: Path) -> bool:
    """Whether the file at ``path`` has the locked size and sha256."""
    if not path.is_file() or path.stat().st_size != artifact.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == artifact.sha256


def _parsed(line: str, where: str) -> Artifact:
    match = _LINE.fullmatch(line.rstrip())
    parts = match["coordinates"].split(":") if match else []
    if not match or not all(map(_PART.fullmatch, parts)):
        raise Refused(
            "malformed line of the lock", where=where, fix="write: set group:artifact:version:ext bytes sha256"
        )
    group, artifact, version, ext = parts
    return Artifact(match["set"], group, artifact, version, ext, int(match["size"]), match["sum"])
