"""Files that only their owner can read, replaced as a whole."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

_BYTES = 24  # of a password: 32 characters


def write_private(path: Path, content: bytes | str, mode: int = 0o600) -> None:
    """Writes a file with a mode that it has from the start; a reader sees the old content or the new."""
    for folder in reversed([folder for folder in path.parents if not folder.exists()]):
        folder.mkdir(mode=0o700)
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def new_password() -> str:
    """A password of letters, digits, - and _, which no shell, JAAS or properties file changes."""
    return secrets.token_urlsafe(_BYTES)
