"""Ways in which a disk or a power loss harms a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def flip(file: Path) -> None:
    """Changes one bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def flip_the_end(file: Path) -> None:
    """Changes one bit of the third byte from the end."""
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def halve(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


HARMS: dict[str, Callable[[Path], object]] = {"flip": flip, "halve": halve, "empty": empty, "remove": Path.unlink}
