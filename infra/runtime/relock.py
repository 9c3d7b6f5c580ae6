"""`make lock`: downloads every file of the jar lock again and writes its size and sha256, without verification."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import Refused
from infra.progress_bar import bar
from infra.runtime import ivy, jars_lock
from infra.runtime.jars_lock import Artifact
from infra.settings import Settings
from infra.settings.sources import read_settings


def measured_artifacts(settings: Settings, artifacts: Sequence[Artifact]) -> dict[Artifact, Artifact]:
    """Each entry with the size and sha256 of the downloaded file. Raises Refused when a download fails."""
    with tempfile.TemporaryDirectory() as folder, bar("Fetching", sum(a.size for a in artifacts), "bytes") as report:
        downloaded = ivy.fetch_artifacts(settings, artifacts, Path(folder), report)
        absent = [str(a.file_name) for a in artifacts if a not in downloaded]
        if absent:
            raise Refused(f"download failed: {', '.join(absent)}", where=str(jars_lock.LOCK), fix="correct the version")
        return {a: replace(a, size=path.stat().st_size, sha256=_sum(path)) for a, path in downloaded.items()}


def main() -> None:
    """Rewrites the lock in place and keeps comments and order."""
    text = jars_lock.LOCK.read_text("utf-8")
    entries = jars_lock.read_lock()
    for name in dict.fromkeys(a.set for a in entries):
        for old, new in measured_artifacts(read_settings(), [a for a in entries if a.set == name]).items():
            text = text.replace(str(old), str(new))
    jars_lock.LOCK.write_text(text, "utf-8")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
