"""Delta's log store for Spark on an object store, compiled once by the Scala compiler that pyspark brings."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pyspark

from core.errors import Refused
from infra.runtime import jars, spark_versions
from infra.runtime.java import find_java
from infra.settings import Settings

CLASS = "lk.CommitOnce"
_SOURCE = Path(__file__).with_name("CommitOnce.scala")
_SECONDS = 180


def jar(settings: Settings) -> Path:
    """The jar with the log store, at once when it is in the cache. Raises Refused with what the compiler said."""
    ours = jars.ensure_jars(settings, spark_versions.installed_spark().jars)
    named = (_SOURCE.read_bytes(), ours.name.encode(), pyspark.__version__.encode())
    target = settings.cache / f"commit-once-{hashlib.sha256(b' '.join(named)).hexdigest()[:12]}.jar"
    if not target.is_file():
        part = target.with_name(f".{os.getpid()}-{target.name}")
        try:
            _compile(settings, ours, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return target


def _compile(settings: Settings, ours: Path, part: Path) -> None:
    sparks = Path(pyspark.__file__).parent / "jars"
    compiler = [str(path) for path in sorted(sparks.glob("scala-*.jar"))]
    known = [*compiler, *map(str, ours.glob("delta-storage-*.jar")), *map(str, sparks.glob("hadoop-client-*.jar"))]
    java = str(find_java(settings) / "bin" / "java")
    words = ["-classpath", os.pathsep.join(known), "-d", str(part), str(_SOURCE)]
    done = subprocess.run(
        [java, "-cp", os.pathsep.join(compiler), "scala.tools.nsc.Main", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode or not part.is_file():
        raise Refused(
            f"the log store could not be compiled: {(done.stdout + done.stderr).strip()[:2000]}",
            where=str(_SOURCE),
            fix="run it on the locked packages: `make setup`",
        )
