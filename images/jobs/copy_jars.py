"""Copies verified jar sets of `infra/runtime/jars.lock`, and Delta's log store, into a folder, to build images.

``python copy_jars.py FOLDER SET…``
"""

import shutil
import sys
import tempfile
from pathlib import Path

from infra.runtime import jars
from infra.settings import Settings
from infra.spark import scala_classes

with tempfile.TemporaryDirectory() as cache:
    settings = Settings(cache=Path(cache))
    locked = [jar for name in sys.argv[2:] for jar in sorted(jars.ensure_jars(settings, name).glob("*.jar"))]
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    for jar in (*locked, scala_classes.jar(settings)):
        shutil.copy2(jar, target)
