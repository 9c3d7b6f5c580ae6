"""A run whose process is a job run of EMR Serverless: started, waited for by its lease, cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from core.errors import Refused, TryAgain, Usage
from core.identifiers import Name
from infra import emr
from infra.lake import leases
from infra.retry import wait_until
from infra.settings import Settings

DEADLINE = 900.0  # a driver and executors that are asked for take minutes
_LOOK = 2.0


def start(settings: Settings, run: Name, words: Sequence[str]) -> None:
    """Starts `lk WORDS`, or finds it started, and returns when the run's lease is held. Raises why it is not."""
    values = settings.model_dump(mode="json")
    with _usage_errors():
        job = emr.find(values, words) or emr.start(values, words, stays=True)
    late = TryAgain(
        f"{run} did not start within {DEADLINE:.0f} s", where=f"job run {job}", fix="the same command waits again"
    )
    wait_until(lambda: _is_running(settings, run, job), DEADLINE, every=_LOOK, error=lambda: late)


def stop(settings: Settings, run: Name) -> None:
    """Cancels the run's job run, if it goes: an epoch that was cut off is done again by who goes on."""
    values = settings.model_dump(mode="json")
    with _usage_errors():
        for kind in ("speed", "route"):
            job = emr.find(values, [kind, "run", run])
            if job is not None:
                emr.cancel(values, job)


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except emr.Missing as e:
        raise Usage(str(e), fix=e.fix) from None


def _is_running(settings: Settings, run: Name, job: str) -> bool:
    now, why = emr.state(settings.model_dump(mode="json"), job)
    if now in emr.ENDED:
        raise Refused(
            f"{run} did not start: its job run ended as {now.lower()}",
            where=f"job run {job}: {why or 'EMR says no reason'}",
            fix="read the log of the job run",
        )
    return leases.holder(settings, f"run_{run}") is not None
