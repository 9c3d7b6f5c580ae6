"""Our Scala classes for Spark: decoding, small epochs, local files and a log store of Delta. They are compiled once."""

from __future__ import annotations

from pathlib import Path

from infra.runtime import jars, scala_compiler, spark_versions
from infra.settings import Settings

LOG_STORE = "lk.CommitOnce"  # for an object store
LOCAL_FILES = "lk.LocalFiles"
_SOURCES = Path(__file__).parent / "scala"
_FIX = 'install the locked packages: `make setup`; `decoder = "plain"` does without them'


def jar(settings: Settings) -> Path:
    """The jar with the classes, compiled unless it is in the cache. Raises Refused with the compiler's errors."""
    jars_dir = jars.ensure_jars(settings, spark_versions.installed_spark().jars)
    folders = (scala_compiler.PYSPARK_JARS, jars_dir)
    return scala_compiler.compiled(settings, "scala-classes", sorted(_SOURCES.glob("*.scala")), folders, fix=_FIX)
