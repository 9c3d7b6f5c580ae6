"""Reads files that hold a password or a certificate; an error names the file and says what to correct."""

from __future__ import annotations

from pathlib import Path

from core.errors import Refused

AGAIN = "remove it and run `lk up`, which makes a missing one again"  # of a password in the folder of secrets


def read_password(file: Path, what: str, fix: str) -> str:
    """The password in a file, without the end of its line. Raises Refused as ``read_text``, and for a blank one."""
    password = read_text(file, what, fix).rstrip("\r\n")
    if not password.strip():
        raise Refused(f"{what} is empty", where=str(file), fix=f"write the password into the file, or {fix}")
    return password


def read_text(file: Path, what: str, fix: str) -> str:
    """The text of a file. Raises Refused, with what it is and what to do, if it cannot be read."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not text"
        raise Refused(f"{what} cannot be read: {reason}", where=str(file), fix=fix) from None
