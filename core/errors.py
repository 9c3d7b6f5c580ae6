"""Errors by what the caller can do next; each has an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REPAIR = "`lk scrub` names every damaged file, `lk repair` brings back what can come back"
NEW_RUN = "start a new run: `lk speed start --new`; in Kappa `lk replay start`, then `lk switch kappa`"
SERVED_STAYS = "what is served stays as it is"
REPORT_BUG = "report this as a bug"
RESUME_RUN = "`lk speed start`, or `lk replay start` for a replay in progress"


class LkError(Exception):
    """Says what happened, where, and how to fix it.

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
    """Nothing was changed, and the same call will fail again (exit 1)."""


class Usage(LkError):
    """The command was called with wrong arguments (exit 2)."""

    exit_code = 2


class TryAgain(LkError):
    """A transient failure, such as a lease that is held or a server that is starting (exit 75)."""

    exit_code = 75


def as_document(error: LkError) -> dict[str, Any]:
    """An error as JSON values, for another process."""
    return {"what": error.what, "where": error.where, "fix": error.fix, "exit": error.exit_code}


def from_document(document: Mapping[str, Any]) -> LkError:
    """The error of another process; Refused if its exit code is that of no kind."""
    kinds: dict[int, type[LkError]] = {kind.exit_code: kind for kind in (Refused, Usage, TryAgain)}
    kind = kinds.get(int(document["exit"]), Refused)
    return kind(str(document["what"]), where=str(document["where"]), fix=str(document["fix"]))
