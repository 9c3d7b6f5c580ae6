"""Errors typed by what the caller should do next; each one becomes an exit code."""

from __future__ import annotations


class LkError(Exception):
    """What happened, where, and what to do: the three things a person needs.

    ``where`` names topic/partition/offset, table/version or file/line; ``fix`` is a sentence or a command.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        where = f"\n  where: {self.where}" if self.where else ""
        fix = f"\n  fix: {self.fix}" if self.fix else ""
        return f"{self.what}{where}{fix}"


class Refused(LkError):
    """Nothing was changed, and trying again will be refused again (exit 1)."""


class Usage(LkError):
    """The command was called wrongly (exit 2)."""

    exit_code = 2


class TryAgain(LkError):
    """The reason is expected to pass by itself: a lease held, a server starting (exit 75)."""

    exit_code = 75
