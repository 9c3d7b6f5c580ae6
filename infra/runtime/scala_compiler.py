"""The Scala compiler in pyspark's jars: compiles our Scala sources into a jar, once for each content."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from core.errors import Refused
from infra.progress_bar import bar
from infra.runtime import pyspark_files
from infra.runtime.java import find_java
from infra.settings import Settings

PYSPARK_JARS = pyspark_files.jars()
_SECONDS = 180


def compiled(settings: Settings, name: str, sources: Sequence[Path], folders: Sequence[Path], *, fix: str) -> Path:
    """The jar of these sources in the cache, compiled against the jars in ``folders`` unless it is there.

    ``name`` begins its file name. Raises Refused with the compiler's errors and ``fix``.
    """
    contents = [source.read_bytes() for source in sources]
    inputs = (*contents, *(folder.name.encode() for folder in folders), pyspark_files.version().encode())
    target = settings.cache / f"{name}-{hashlib.sha256(b' '.join(inputs)).hexdigest()[:12]}.jar"
    if not target.is_file():
        with TemporaryDirectory(dir=settings.cache) as folder, bar(f"compiling {name}"):
            _compile(settings, sources, folders, Path(folder) / target.name, fix)
            (Path(folder) / target.name).replace(target)
    return target


def library() -> Path:
    """The jar of Scala's library, which compiled classes need."""
    return next(PYSPARK_JARS.glob("scala-library-*.jar"))


def _compile(settings: Settings, sources: Sequence[Path], folders: Sequence[Path], target: Path, fix: str) -> None:
    compiler = os.pathsep.join(str(path) for path in sorted(PYSPARK_JARS.glob("scala-*.jar")))
    class_path = os.pathsep.join(map(str, (library(), *(folder / "*" for folder in folders))))
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
        raise Refused(f"the Scala classes could not be compiled: {reason}", where=str(sources[0].parent), fix=fix)
