"""Drives a run in this process until a signal stops it, and keeps its state file."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from core.errors import LkError, TryAgain
from core.identifiers import Name
from infra.settings import Settings
from infra.spark.session import driver_log
from speed.process import state_file


@contextmanager
def run_until_stopped(
    settings: Settings, run: Name, app: str, *, epoch: Callable[[], int]
) -> Iterator[threading.Event]:
    """The block drives a run; SIGTERM and Ctrl-C set the event, and the state file records how the block ended.

    Spark's errors become TryAgain, which names the log of the session ``app``.
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
    except (PySparkException, Py4JError, OSError) as e:
        error = TryAgain(
            f"Spark ended: {first_line(str(e))}", where=str(driver_log(settings, app)), fix="run `lk speed start`"
        )
        _write_failure(settings, run, error)
        raise error from None
    state_file.write_state(settings, run, "stopped", epoch=epoch())


def first_line(text: str) -> str:
    """The first line of an error that is not empty, at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:300] if lines else "no reason given"


def _write_failure(settings: Settings, run: Name, e: LkError) -> None:
    reason = {"what": e.what, "where": e.where, "fix": e.fix, "exit": e.exit_code}
    state_file.write_state(settings, run, "failed", reason=reason)
