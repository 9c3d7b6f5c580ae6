"""Vega, the library that draws the charts, as one script that loads nothing: the package vl-convert-python holds it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from core.errors import TryAgain
from infra.settings import Settings

_SECONDS = 60.0
# In a process of its own: the JavaScript engine that bundles the script keeps 140 MB.
_BUNDLE = "import sys, vl_convert; open(sys.argv[1], 'w', encoding='utf-8').write(vl_convert.javascript_bundle())"


def script(settings: Settings) -> Path:
    """The file of the script in the cache folder, made at first use. Raises TryAgain when that does not succeed."""
    file = settings.cache / f"vega-{version('vl-convert-python')}.js"
    if not file.is_file():
        unfinished = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            settings.cache.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [sys.executable, "-c", _BUNDLE, unfinished], check=True, timeout=_SECONDS, capture_output=True
            )
            unfinished.replace(file)
        except (OSError, subprocess.SubprocessError) as error:
            unfinished.unlink(missing_ok=True)
            raise TryAgain(f"the charts have no library: {error}", where=str(file), fix="open the page again") from None
    return file
