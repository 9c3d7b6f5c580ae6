"""Conditions on the epochs that a partial row covers, ``first_epoch`` to ``last_epoch``; a fold widens that range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BEFORE_ALL = -2  # before every epoch: a prefix from the archive is epoch -1


def within(after: int, until: int | None = None) -> str:
    """SQL: whether all epochs of a row come after ``after``, and none after ``until``."""
    return f"first_epoch > {after:d}" + (f" AND last_epoch <= {until:d}" if until is not None else "")


def is_within(column: Callable[[str], Any], after: int, until: int) -> Any:
    """The condition of ``within`` on columns; ``column`` as in ``crosses``."""
    return (column("first_epoch") > after) & (column("last_epoch") <= until)


def crosses(column: Callable[[str], Any], epoch: int) -> Any:
    """Whether a row has epochs up to ``epoch`` and others after it, which cannot be told apart any more.

    ``column`` makes a column from its name: ``col`` of Spark, or ``field`` of Arrow.
    """
    return (column("first_epoch") <= epoch) & (column("last_epoch") > epoch)
