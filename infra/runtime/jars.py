"""Downloads jars and servers into the cache folder: once, verified by sha256, shared by all clones."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import tenacity

from core.errors import Refused
from core.safe_text import one_line
from infra import file_lock
from infra.progress_bar import bar, console
from infra.runtime import ivy, jars_lock
from infra.runtime.jars_lock import Artifact
from infra.settings import Settings

SETS = ("spark", "kafka", "trino")  # downloaded by `lk setup`, and "aws" if the lake is in an object store
_PLUGINS = ("delta-lake", "http-event-listener", "password-authenticators", "resource-group-managers")
TRINO_PARTS = ("lib", *(f"plugin/{name}" for name in _PLUGINS))
ATTEMPTS = 3
_COMPLETE = ".complete"

Fetch = Callable[[Settings, Sequence[Artifact], Path, Callable[[int], None]], Mapping[Artifact, Path]]


class _DownloadFailed(Exception):
    """Files are missing, or differ from the lock."""


def ensure_jars(
    settings: Settings,
    name: str,
    *,
    fetch: Fetch = ivy.fetch_artifacts,
    lock: Path = jars_lock.LOCK,
    wait: float = 2.0,
) -> Path:
    """The folder of one set of files ("spark", "kafka", "trino", "aws"), which it downloads if necessary.

    Raises Refused when three downloads fail or differ from the lock.
    """
    artifacts = tuple(a for a in jars_lock.read_lock(lock) if a.set == name)
    archived = [a for a in artifacts if a.ext == "tar.gz"]
    folder = settings.cache / f"{name}-{jars_lock.lock_digest([*artifacts, *(TRINO_PARTS if archived else ())])}"
    if (folder / _COMPLETE).is_file():
        return folder
    with _exclusive(settings.cache, name):
        if not (folder / _COMPLETE).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            _download(settings, artifacts, folder, fetch, wait)
            for archive in archived:
                with bar(f"Unpacking {archive.file_name}"):
                    _unpack(folder / archive.file_name, folder, TRINO_PARTS)
            (folder / _COMPLETE).touch()
            for archive in archived:
                (folder / archive.file_name).unlink()
    return folder


def _exclusive(cache: Path, name: str) -> AbstractContextManager[None]:
    """Holds the lock of a set: one process at a time, across clones."""
    text = f"Waiting for another process that downloads {name.capitalize()}"
    return file_lock.exclusive_lock(cache / f"{name}.lock", on_wait=lambda: console().print(text))


def _say(text: str) -> None:
    """Prints what may have text of a server."""
    console().print(one_line(text), markup=False)


def _download(settings: Settings, artifacts: Sequence[Artifact], folder: Path, fetch: Fetch, wait: float) -> None:
    staging = folder / ".download"

    @tenacity.retry(
        retry=tenacity.retry_if_exception_type(_DownloadFailed),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_exponential(multiplier=wait),
        before_sleep=lambda state: _say(f"{state.outcome and state.outcome.exception()}; trying again"),
        reraise=True,
    )
    def attempt() -> None:
        missing = [a for a in artifacts if not jars_lock.is_intact(a, folder / a.file_name)]
        if missing:
            _fetch_into(settings, missing, folder, staging, fetch)

    try:
        attempt()
    except _DownloadFailed as e:
        raise Refused(
            f"{e}, after {ATTEMPTS} attempts",
            where=f"log: {staging / 'ivy.log'}",
            fix="check the network, or set another repository: ivy_settings (LK_IVY_SETTINGS)",
        ) from None
    shutil.rmtree(staging, ignore_errors=True)


def _fetch_into(settings: Settings, missing: Sequence[Artifact], folder: Path, staging: Path, fetch: Fetch) -> None:
    staging.mkdir(exist_ok=True)
    label = f"Downloading {missing[0].set.capitalize()}"
    size = sum(a.size for a in missing)
    files = "1 file" if len(missing) == 1 else f"{len(missing)} files"
    console().print(f"{label} ({files}, {size / 1e6:.0f} MB)", highlight=False)
    with bar(label, size, "bytes") as report:
        downloaded = fetch(settings, missing, staging, report)
    tampered = [a.file_name for a, path in downloaded.items() if not jars_lock.is_intact(a, path)]
    for artifact, path in downloaded.items():
        if artifact.file_name not in tampered:
            os.replace(path, folder / artifact.file_name)  # noqa: PTH105
    absent = [a.file_name for a in missing if a not in downloaded]
    if absent or tampered:
        reasons = [f"download failed: {', '.join(absent)}"] if absent else []
        reasons += [f"sha256 differs from the lock: {', '.join(tampered)}"] if tampered else []
        raise _DownloadFailed("; ".join(reasons))


def _unpack(archive: Path, folder: Path, parts: Sequence[str]) -> None:
    """Extracts only ``parts`` below the archive's top folder, following hard links out of them."""
    staging = folder / ".unpack"
    shutil.rmtree(staging, ignore_errors=True)
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        top = members[0].name.split("/")[0]
        selected = [m for m in members if m.name.startswith(tuple(f"{top}/{name}/" for name in parts))]
        names = {m.name for m in selected} | {m.linkname for m in selected if m.islnk()}
        # Python before 3.11.4, as in Debian 12, has no filters.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        tar.extractall(staging, [m for m in members if m.name in names])  # noqa: S202  verified by its sum
    for name in parts:
        target = folder / name
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        (staging / top / name).replace(target)
    shutil.rmtree(staging)
