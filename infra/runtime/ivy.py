"""Downloads files by their Maven coordinates, with the Ivy of the pyspark package."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from core.errors import Refused
from infra.runtime import pyspark_files
from infra.runtime.jars_lock import Artifact
from infra.runtime.java import find_java, trust_options
from infra.settings import Settings

# usepoms=false: Ivy parses no parent POMs, 1 s instead of 2 minutes.
_DEFAULT = """<ivysettings>
  <settings defaultResolver="public"/>
  <resolvers><ibiblio name="public" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""


def fetch_artifacts(
    settings: Settings, artifacts: Sequence[Artifact], folder: Path, report: Callable[[int], None]
) -> dict[Artifact, Path]:
    """Downloads into ``folder`` and returns the files that exist, perhaps incomplete and not verified.

    Calls ``report`` with the bytes so far. Ivy's output goes to ``folder/ivy.log``. Raises Refused without Ivy.
    """
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    (folder / "ivy.xml").write_text(_module(artifacts), "utf-8")
    (folder / "settings.xml").write_text(_DEFAULT, "utf-8")
    with (folder / "ivy.log").open("wb") as log:
        ivy = subprocess.Popen(
            _command(settings, folder, cache), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
        )
        try:
            _wait(ivy, cache, report)
        finally:
            ivy.kill()
            ivy.wait()
    paths = {a: cache / a.group / a.artifact / f"{a.ext}s" / a.file_name for a in artifacts}
    return {artifact: path for artifact, path in paths.items() if path.is_file()}


def _wait(ivy: subprocess.Popen[bytes], cache: Path, report: Callable[[int], None]) -> None:
    while True:
        try:
            ivy.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            report(_size(cache))
        else:
            return


def _size(cache: Path) -> int:
    total = 0
    for path in cache.glob("*/*/*s/*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # renamed since the listing: its download is complete
            continue
    return total


def _command(settings: Settings, folder: Path, cache: Path) -> list[str]:
    java = find_java(settings) / "bin" / "java"
    jar = next(pyspark_files.jars().glob("ivy-*.jar"), None)
    if jar is None:
        where = str(pyspark_files.jars())
        raise Refused("pyspark has no Ivy", where=where, fix="install the locked packages: make setup")
    ivy_settings = settings.ivy_settings or folder / "settings.xml"
    return [
        *(str(java), *trust_options(), *_proxy_options(), "-jar", str(jar)),
        *("-m2compatible", "-cache", str(cache), "-settings", str(ivy_settings), "-ivy", str(folder / "ivy.xml")),
        *("-types", "jar", "tar.gz", "zip"),
    ]


def _proxy_options() -> list[str]:
    """Java options for the proxy of ``https_proxy``, which Java does not read itself."""
    url = os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY")
    proxy = urlsplit(url) if url else None
    if proxy is None or not proxy.hostname:
        return []
    return [f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 80}"]


def _module(artifacts: Sequence[Artifact]) -> str:
    return "\n".join(
        [
            '<ivy-module version="2.0"><info organisation="lk" module="downloads"/><dependencies>',
            *(_dependency(artifact) for artifact in artifacts),
            "</dependencies></ivy-module>",
        ]
    )


def _dependency(a: Artifact) -> str:
    org, name, rev, ext = map(quoteattr, (a.group, a.artifact, a.version, a.ext))
    return (
        f'<dependency org={org} name={name} rev={rev} transitive="false">'
        f"<artifact name={name} type={ext} ext={ext}/></dependency>"
    )
