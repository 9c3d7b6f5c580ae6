"""Errors of libraries that a person can act on, as errors of ours."""

from __future__ import annotations

import errno
import re
import subprocess
import sys

from core.errors import REPAIR, LkError, Refused, TryAgain

_SECONDS_TO_END = 2.0  # the connection to a Java process breaks a moment before the process has ended


def explained(error: BaseException, log: str) -> LkError | None:
    """What an error of a library means; None for one that is not known. ``log`` says where its stack trace is."""
    # By name: importing the libraries would make every verb slower.
    kinds, line = {kind.__name__ for kind in type(error).__mro__}, first_line(str(error) or type(error).__name__)
    if "Py4JNetworkError" in kinds or _java_ended("Py4JError" in kinds or isinstance(error, ConnectionError)):
        return TryAgain(
            "the Java process of Spark ended; it may have been out of memory",
            where=f"its log is spark-*.log in the folder of logs; {log}",
            fix="run the command again; if it happens again, raise spark_memory (LK_SPARK_MEMORY)",
        )
    if "KafkaException" in kinds and "AUTHORIZATION_FAILED" in str(error):
        return Refused(
            f"Kafka does not allow this: {line}",
            where=log,
            fix="give the user of kafka_user the right: docs/security.md has those of each principal",
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


def unexpected(error: BaseException) -> str:
    """What happened, of an error that nobody expected."""
    return f"unexpected {type(error).__name__}: {first_line(str(error))}"


def first_line(text: str) -> str:
    """The first line of an error that is not empty, at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else "no reason given"


def root_cause(error: BaseException) -> str:
    """The message of the first cause of an error of Java, without stack traces; of other errors, their own."""
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return str(error)
    while (earlier := cause.getCause()) is not None:
        cause = earlier
    return str(cause.getMessage() or cause.getClass().getName())


def _java_ended(suspected: bool) -> bool:
    """Whether the Java process that this process started for Spark has ended."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    process = getattr(getattr(context, "_gateway", None), "proc", None)
    if process is None:
        return False
    try:
        process.wait(_SECONDS_TO_END if suspected else 0)
    except subprocess.TimeoutExpired:
        return False
    return True
