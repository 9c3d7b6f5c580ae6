"""Vega, the library that draws the charts, as one script that loads nothing: the package vl-convert-python holds it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor

_SECONDS = 120.0
# In a process of its own: the JavaScript engine that bundles the script keeps 140 MB.
_BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"


class ChartLibrary:
    """The script, made when the first page asks for it and kept in memory: 0.9 MB."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)  # of its own: the pages of the server do not wait for its threads
        self._made: Future[bytes] | None = None

    async def script(self) -> bytes:
        """The bytes of the script. Raises CalledProcessError, TimeoutExpired or OSError; the next call tries again."""
        if self._made is None or (self._made.done() and self._made.exception()):
            self._made = self._pool.submit(_bundle)
        return await asyncio.shield(asyncio.wrap_future(self._made))


def _bundle() -> bytes:
    return subprocess.run([sys.executable, "-c", _BUNDLE], check=True, timeout=_SECONDS, capture_output=True).stdout
