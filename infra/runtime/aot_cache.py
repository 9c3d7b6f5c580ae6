"""Java's AOT cache (JEP 483 and 515): loaded classes and profiles of methods from a training run, so starts are faster.

The file's name depends on the Java and the jars. Java ignores a cache that does not fit, for example its options.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from infra.runtime.java import OLDEST

_HAS_PROFILES = 25
_JAVA_READS = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")
_OWN_ARCHIVE = ("-Xshare", "SharedArchiveFile", "-XX:AOT", "SharedClassListFile")
_QUIET = ("-Xlog:aot=off", "-Xlog:cds=off")


def cache_file(kind: str, java_home: Path, class_path: Iterable[Path], java_options: str) -> Path | None:
    """Where the cache for this Java and these files is, or will be; None for a Java or for options that exclude one."""
    given = " ".join((java_options, *(os.environ.get(name, "") for name in _JAVA_READS)))
    if OLDEST < _HAS_PROFILES or any(word in given for word in _OWN_ARCHIVE):
        return None
    release = java_home / "release"
    described = [str(java_home), release.read_text("utf-8", errors="replace") if release.is_file() else ""]
    described += [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in class_path]
    digest = hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]
    return Path(sys.prefix) / "class-archives" / f"{kind}-{digest}.aot"


def options(cache: Path) -> list[str]:
    """Java options to start with a cache."""
    return [f"-XX:AOTCache={cache}", *_QUIET]


def training_options(cache: Path) -> list[str]:
    """Java options of a training run: Java writes the cache as it ends, which takes some 20 seconds."""
    return [f"-XX:AOTCacheOutput={cache}", *_QUIET]
