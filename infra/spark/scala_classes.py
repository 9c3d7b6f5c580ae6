"""Delta's log store for Spark on an object store, compiled once with the Scala compiler in pyspark's jars."""

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
_SOURCE = Path(__file__).parent / "scala" / "CommitOnce.scala"
_SECONDS = 180


def jar(settings: Settings) -> Path:
    """The jar with the log store, compiled unless it is in the cache. Raises Refused with the compiler's errors."""
    jars_dir = jars.ensure_jars(settings, spark_versions.installed_spark().jars)
    inputs = (_SOURCE.read_bytes(), jars_dir.name.encode(), pyspark.__version__.encode())
    target = settings.cache / f"commit-once-{hashlib.sha256(b' '.join(inputs)).hexdigest()[:12]}.jar"
    if not target.is_file():
        part = target.with_name(f".{os.getpid()}-{target.name}")
        try:
            _compile(settings, jars_dir, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return target


def _compile(settings: Settings, jars_dir: Path, target: Path) -> None:
    pyspark_jars = Path(pyspark.__file__).parent / "jars"
    compiler = [str(path) for path in sorted(pyspark_jars.glob("scala-*.jar"))]
    class_path = [
        *compiler,
        *map(str, jars_dir.glob("delta-storage-*.jar")),
        *map(str, pyspark_jars.glob("hadoop-client-*.jar")),
    ]
    java = str(find_java(settings) / "bin" / "java")
    options = ["-classpath", os.pathsep.join(class_path), "-d", str(target), str(_SOURCE)]
    process = subprocess.run(
        [java, "-cp", os.pathsep.join(compiler), "scala.tools.nsc.Main", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if process.returncode or not target.is_file():
        raise Refused(
            f"the log store could not be compiled: {(process.stdout + process.stderr).strip()[:2000]}",
            where=str(_SOURCE),
            fix="install the locked packages: `make setup`",
        )
