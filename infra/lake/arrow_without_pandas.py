"""Keeps pyarrow from importing pandas: this saves 50 MB and 0.3 s per verb."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas:
    """A finder of modules that has no pandas."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raises ImportError for pandas; leaves other modules to the next finder."""
        if name == "pandas":
            raise ImportError("not needed yet")
        return None


def leave_pandas_out() -> None:
    """Makes pyarrow's first array while pandas cannot be imported: pyarrow looks for it once, and goes on without.

    A later import of pandas works as usual.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)
