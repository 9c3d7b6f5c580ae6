"""Puts one set of `infra/jars.lock` in a folder, verified: ``python jars.py SET FOLDER``. For building images."""

import shutil
import sys
import tempfile
from pathlib import Path

from infra import jars
from infra.settings import Settings

with tempfile.TemporaryDirectory() as cache:
    found = jars.ensure(Settings(cache=Path(cache)), sys.argv[1])
    target = Path(sys.argv[2])
    target.mkdir(parents=True)
    for jar in sorted(found.glob("*.jar")):
        shutil.copy2(jar, target)
