"""Opens a user's file of lines, plain or gzipped."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

from core.errors import Refused

_GZIP_MAGIC = b"\x1f\x8b"
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)  # what a broken gzip file raises when it is read


def require_file(path: Path, fix: str) -> None:
    """Raises Refused unless this is a file that this process may read; ``fix`` says what to specify instead."""
    if not path.exists():
        raise Refused("the file does not exist", where=str(path), fix=fix)
    if not path.is_file():
        raise Refused("the path is not a file", where=str(path), fix=fix)
    if not os.access(path, os.R_OK):
        raise Refused("no permission to read the file", where=str(path), fix="change its permissions")


def is_gzipped(raw: io.BufferedReader) -> bool:
    """Whether an open file begins as a gzip file does. It is at its start afterwards."""
    magic = raw.read(len(_GZIP_MAGIC))
    raw.seek(0)
    return magic == _GZIP_MAGIC


def decompressed(raw: io.BufferedReader) -> io.BufferedIOBase:
    """The bytes of an open file, decompressed if it is gzipped.

    Of a broken gzip file all lines before the break are read: a buffer around it would lose the last block of them.
    """
    return gzip.GzipFile(fileobj=raw) if is_gzipped(raw) else raw
