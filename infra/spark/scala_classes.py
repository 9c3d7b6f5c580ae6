"""Our Scala classes: decoding, and a log store of Delta. The Scala compiler in pyspark's jars compiles them once."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

from core.errors import Refused
from infra.progress_bar import bar
from infra.runtime import jars, spark_versions
from infra.runtime.java import find_java
from infra.settings import Settings

LOG_STORE = "lk.CommitOnce"  # for an object store
_SOURCES = Path(__file__).parent / "scala"
_SECONDS = 180


def jar(settings: Settings) -> Path:
    """The jar with the classes, compiled unless it is in the cache. Raises Refused with the compiler's errors."""
    jars_dir = jars.ensure_jars(settings, spark_versions.installed_spark().jars)
    sources = sorted(_SOURCES.glob("*.scala"))
    inputs = (*(source.read_bytes() for source in sources), jars_dir.name.encode(), pyspark.__version__.encode())
    target = settings.cache / f"scala-classes-{hashlib.sha256(b' '.join(inputs)).hexdigest()[:12]}.jar"
    if not target.is_file():
        with TemporaryDirectory(dir=settings.cache) as folder, bar("compiling Spark's own classes"):
            _compile(settings, sources, jars_dir, Path(folder) / target.name)
            (Path(folder) / target.name).replace(target)
    return target


def _compile(settings: Settings, sources: Sequence[Path], jars_dir: Path, target: Path) -> None:
    pyspark_jars = Path(pyspark.__file__).parent / "jars"
    compiler = os.pathsep.join(str(path) for path in sorted(pyspark_jars.glob("scala-*.jar")))
    class_path = os.pathsep.join(map(str, (pyspark_jars / "*", *jars_dir.glob("delta-storage-*.jar"))))
    java = str(find_java(settings) / "bin" / "java")
    options = ["-classpath", class_path, "-d", str(target), *map(str, sources)]
    command = [java, "-cp", compiler, "scala.tools.nsc.Main", *options]
    try:
        process = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        output = (process.stdout + process.stderr).strip()[:2000]
        reason = (output or f"exit code {process.returncode}") if process.returncode else ""
    except subprocess.TimeoutExpired:
        reason = f"the compiler did not end within {_SECONDS} s"
    if reason or not target.is_file():
        raise Refused(
            f"the Scala classes could not be compiled: {reason}",
            where=str(_SOURCES),
            fix='install the locked packages: `make setup`; `decoder = "plain"` does without them',
        )
