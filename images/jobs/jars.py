"""Puts one set of `infra/jars.lock`, verified, and Delta's log store in a folder: ``python jars.py SET FOLDER``.

For building images.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from infra import commit_once, jars
from infra.settings import Settings

with tempfile.TemporaryDirectory() as cache:
    settings = Settings(cache=Path(cache))
    found = jars.ensure(settings, sys.argv[1])
    target = Path(sys.argv[2])
    target.mkdir(parents=True)
    for jar in (*sorted(found.glob("*.jar")), commit_once.jar(settings)):
        shutil.copy2(jar, target)
