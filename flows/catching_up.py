"""Waits until a new run has read what is served: after a full build that may take hours."""

from __future__ import annotations

import time

from core.cut import Cut, latest_ends
from core.errors import Refused, TryAgain
from infra.control.manifest import last_epoch, read_up_to
from infra.control.publications import last_done
from infra.control.runs import Run
from infra.progress_bar import bar
from infra.retry import wait_until
from infra.settings import Settings
from serving.promote import PATIENCE
from serving.served_ends import served_ends
from speed.process import background, lifecycle


def wait_until_read(settings: Settings, run: Run) -> None:
    """Returns when little is left, for which ``serve_run`` waits; nothing is locked meanwhile.

    Raises Refused when the run's process has ended.
    """
    while True:
        began = time.monotonic()
        _wait_for(settings, run, _served_end(settings, run))
        if time.monotonic() - began < PATIENCE / 2:  # what arrived meanwhile takes less
            return


def _wait_for(settings: Settings, run: Run, end: Cut) -> None:
    first = _left(settings, run, end)

    def is_read() -> bool:
        left = _left(settings, run, end)
        show(first - left)
        if left:
            _require_process(settings, run)
        return not left

    with bar(f"run {run.id} reads what is served", first, "records") as show:
        wait_until(is_read, None, every=1.0, error=lambda: TryAgain(f"run {run.id} has not read what is served"))


def _served_end(settings: Settings, run: Run) -> Cut:
    """The end of what is served of the topics that the run reads."""
    last = last_done(settings)
    ends = served_ends(settings, last.pins).values() if last else ()
    return latest_ends(end.only(run.topics) for end in ends)


def _left(settings: Settings, run: Run, end: Cut) -> int:
    """How many records before ``end`` the run has not read."""
    return sum(span.size for span in read_up_to(run, last_epoch(settings, run.id)).behind(end))


def _require_process(settings: Settings, run: Run) -> None:
    if background.alive(settings, run.id):
        return
    state = lifecycle.status(settings, run.id)
    raise Refused(
        f"run {run.id} {state.phase}: {state.reason or 'it has no process'}",
        where=str(state.log),
        fix="read this log file, then run the command again: it starts another run",
    )
