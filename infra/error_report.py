"""The report of an unexpected error: its stack trace, in a log of bounded size."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

import click

from core.errors import LkError
from core.safe_text import several_lines
from infra.library_errors import explained, unexpected

_LARGEST_LOG = 4 * 1024 * 1024  # bytes
_MOST_REPORTS = 20  # in the folder for temporary files, each a file of its own


def reported(error: BaseException) -> LkError:
    """Logs the stack trace of an unexpected error; returns the error to print."""
    log = write_report(error)
    fix = "check `lk status`, then run the command again; it is safe to repeat"
    return explained(error, log) or LkError(unexpected(error), where=log, fix=fix)


def write_report(error: BaseException) -> str:
    """Adds the error with its stack trace to a log; says where that is, or why it could not be written."""
    trace = "".join(traceback.format_exception(error))
    began = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} unexpected error in {' '.join(sys.argv)}"
    report = several_lines(f"{began}\n{trace}\n")
    reasons = []
    for open_log in (_home_log, _temporary_log):
        try:
            log = open_log()
            with log.open("a", encoding="utf-8") as out:
                out.write(report)
        except OSError as e:  # the home folder is read-only or the disk is full
            reasons.append(e)
        else:
            return f"the stack trace is in {log}"
    return f"the stack trace could not be written: {reasons[-1]}"


def _home_log() -> Path:
    log = Path(click.get_app_dir("lambda-kappa")) / "lk-errors.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LARGEST_LOG:
        log.replace(f"{log}.1")
    return log


def _temporary_log() -> Path:
    descriptor, path = tempfile.mkstemp(prefix="lk-errors-", suffix=".log")
    os.close(descriptor)
    _delete_old_reports(Path(path).parent)
    return Path(path)


def _delete_old_reports(folder: Path) -> None:
    """Leaves the newest reports of this user: a scheduler repeats what fails, for years."""
    times = {}
    for log in folder.glob("lk-errors-*.log"):
        with contextlib.suppress(OSError):  # another process deleted it
            status = log.lstat()
            if status.st_uid == os.getuid():
                times[log] = status.st_mtime_ns
    for log in sorted(times, key=lambda log: times[log])[:-_MOST_REPORTS]:
        with contextlib.suppress(OSError):
            log.unlink()
