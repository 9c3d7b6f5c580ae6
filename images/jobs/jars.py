"""Puts sets of `infra/jars.lock`, verified, and Delta's log store in a folder: ``python jars.py FOLDER SET…``.

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
    found = [jar for name in sys.argv[2:] for jar in sorted(jars.ensure(settings, name).glob("*.jar"))]
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    for jar in (*found, commit_once.jar(settings)):
        shutil.copy2(jar, target)
