"""Packages that only some commands need: pyproject.toml lists them under optional-dependencies."""

from __future__ import annotations

import importlib.util
import sys

from core.errors import Refused


def require(package: str, extra: str) -> None:
    """Refuses when ``package``, which the optional dependencies ``extra`` install, is missing."""
    if importlib.util.find_spec(package) is None:
        raise Refused(
            f"the Python package {package} is not installed",
            where=sys.prefix,
            fix=f"make setup EXTRAS={extra}, or: pip install 'lambda-kappa[{extra}]'",
        )
