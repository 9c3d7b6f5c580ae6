"""The folder and the version of the installed pyspark, without its import, which takes a tenth of a second."""

from __future__ import annotations

import re
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def home() -> Path:
    """The folder of Spark itself."""
    return Path(str(_spec().origin)).parent


def jars() -> Path:
    """The folder of Spark's own jars."""
    return home() / "jars"


@cache
def version() -> str:
    """Such as ``4.2.0``."""
    loader: Any = _spec().loader  # the package may be in a zip file
    text = loader.get_data(str(Path(str(_spec().origin)).with_name("version.py"))).decode()
    match = re.search(r"""^__version__(?:: str)? = ["'](.+)["']""", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"pyspark does not say its version: {_spec().origin}")
    return match[1]


def _spec() -> ModuleSpec:
    spec = find_spec("pyspark")
    if spec is None:
        raise ImportError("pyspark is not installed: make setup")
    return spec
