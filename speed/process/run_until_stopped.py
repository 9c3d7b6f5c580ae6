"""Drives a run in this process until a signal stops it, and keeps its state file."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from core.errors import LkError, Refused, TryAgain, as_document
from core.identifiers import Name
from infra.error_report import write_report
from infra.library_errors import explained, first_line, unexpected
from infra.settings import Settings
from infra.spark.session import driver_log
from speed.process import state_file


@contextmanager
def run_until_stopped(
    settings: Settings, run: Name, app: str, *, epoch: Callable[[], int], resume: str
) -> Iterator[threading.Event]:
    """The block drives a run; SIGTERM and Ctrl-C set the event, and the state file records how the block ended.

    Errors of libraries become ours; ``app`` is the session whose log they name, ``resume`` the verb that starts
    the run again.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    state_file.write_state(settings, run, "starting")
    try:
        yield stop
    except LkError as e:
        _write_failure(settings, run, e)
        raise
    except Exception as e:
        error = _explained(settings, app, e, resume)
        _write_failure(settings, run, error)
        raise error from None
    state_file.write_state(settings, run, "stopped", epoch=epoch())


def _explained(settings: Settings, app: str, error: Exception, resume: str) -> LkError:
    report = write_report(error)
    explanation = explained(error, report)
    if explanation is not None:
        return explanation
    if isinstance(error, PySparkException | Py4JError | OSError):
        where = f"{driver_log(settings, app)}; {report}"
        return TryAgain(f"Spark ended: {first_line(str(error))}", where=where, fix=f"run {resume}")
    return Refused(unexpected(error), where=report, fix=f"read the stack trace, then run {resume}")


def _write_failure(settings: Settings, run: Name, e: LkError) -> None:
    state_file.write_state(settings, run, "failed", reason=as_document(e))
