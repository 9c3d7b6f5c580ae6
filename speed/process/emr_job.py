"""Starts and cancels a run whose process is a job run of EMR Serverless."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from core.errors import Refused, TryAgain, Usage
from core.identifiers import Name
from infra import emr
from infra.lake import leases
from infra.retry import wait_until
from infra.settings import Settings

DEADLINE = 900.0  # EMR needs minutes to start a driver and executors
_POLL_SECONDS = 2.0


def start(settings: Settings, run: Name, words: Sequence[str]) -> None:
    """Starts `lk WORDS` unless it is started, and returns when the run's lease is held. Raises if it fails."""
    values = settings.model_dump(mode="json")
    with _explained_errors():
        job = emr.find(values, words) or emr.start(values, words, stays=True)
    late = TryAgain(
        f"{run} did not start within {DEADLINE:.0f} s", where=f"job run {job}", fix="the same command waits again"
    )
    wait_until(lambda: _is_running(settings, run, job), DEADLINE, every=_POLL_SECONDS, error=lambda: late)


def stop(settings: Settings, run: Name) -> None:
    """Cancels the run's job run, if there is one; the next process of the run repeats an unfinished epoch."""
    values = settings.model_dump(mode="json")
    with _explained_errors():
        for kind in ("speed", "route"):
            job = emr.find(values, [kind, "run", run])
            if job is not None:
                emr.cancel(values, job)


@contextmanager
def _explained_errors() -> Iterator[None]:
    """Raises Usage for a setting that is missing, and TryAgain for an error of AWS that passes."""
    try:
        yield
    except emr.Missing as e:
        raise Usage(str(e), fix=e.fix) from None
    except Exception as e:
        if not emr.is_passing(e):
            raise
        raise TryAgain(f"AWS does not answer: {e}", where="EMR Serverless", fix="run the same command again") from e


def _is_running(settings: Settings, run: Name, job: str) -> bool:
    try:
        state, reason = emr.state(settings.model_dump(mode="json"), job)
    except Exception as e:
        if emr.is_passing(e):
            return False  # the next poll gets an answer, or start() gives up at its deadline
        raise
    if state in emr.ENDED:
        raise Refused(
            f"{run} did not start: its job run ended as {state.lower()}",
            where=f"job run {job}: {reason or 'EMR gave no reason'}",
            fix="read the log of the job run",
        )
    return leases.living_holder(settings, f"run_{run}") is not None
