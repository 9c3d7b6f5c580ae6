"""Names: the only text of users that becomes part of SQL or of a path."""

from __future__ import annotations

import re

from core.errors import Usage

_PATTERN = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_LONGEST = 60


class Name(str):
    """Lower-case words joined by single underscores, at most 60 characters.

    A double underscore is reserved: it joins the two names of a physical table (see ``joined``).
    Raises Usage for anything else.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Name:
        """Validates ``text``; there is no other way to create a Name."""
        if not is_name(text):
            raise Usage(
                f"{text[:80]!r} is not a name",
                fix="use lower-case letters, digits and single underscores, a letter first, at most 60 characters",
            )
        return super().__new__(cls, text)


def is_name(text: str) -> bool:
    """Whether a text is a Name."""
    return len(text) <= _LONGEST and _PATTERN.match(text) is not None


def joined(left: Name, right: Name) -> str:
    """The physical table name of a pair, such as a view and its build: ``trade_stats__b000003``."""
    return f"{left}__{right}"


def quoted(*parts: str) -> str:
    """A dotted, double-quoted SQL identifier; each part is a Name, or two Names joined."""
    for part in parts:
        for name in part.split("__"):
            Name(name)
    return ".".join(f'"{part}"' for part in parts)
