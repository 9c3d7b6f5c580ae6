"""Errors of libraries that a person can act on, as errors of ours; the stack trace is in the log all the same."""

from __future__ import annotations

import errno
import re

from core.errors import REPAIR, LkError, Refused, TryAgain


def explained(error: BaseException, log: str) -> LkError | None:
    """What an error of a library means; None for one that is not known. ``log`` is where its stack trace is."""
    # By name: importing the libraries would make every verb slower.
    kinds, line = {kind.__name__ for kind in type(error).__mro__}, _first_line(error)
    if "Py4JNetworkError" in kinds:
        return TryAgain(
            "the Java process of Spark ended; it may have been out of memory",
            where=f"its log is spark-*.log in the folder of logs; {log}",
            fix="run the command again; if it happens again, raise spark_memory (LK_SPARK_MEMORY)",
        )
    damaged = re.search(r"FAILED_READ_FILE.*?reading file (\S+?)\.?(?:\s|$)", str(error))
    if damaged:
        return Refused("a file of the lake cannot be read", where=f"{damaged[1]}; {log}", fix=REPAIR)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TryAgain(
            f"the disk is full: {line}",
            where=log,
            fix="free some space, then run the command again; it is safe to repeat",
        )
    if isinstance(error, PermissionError):
        return Refused(f"not allowed: {line}", where=log, fix="let this user read and write the data folder")
    if "DeltaError" in kinds:
        return TryAgain(
            f"a Delta table cannot be read or written: {line}",
            where=log,
            fix="check the disk or the object store, then run the command again; it is safe to repeat",
        )
    return None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
