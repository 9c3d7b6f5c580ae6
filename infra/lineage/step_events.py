"""Reports a step as a run of OpenLineage: START, then COMPLETE, FAIL or ABORT. It never fails or holds up a step."""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import LkError
from core.safe_text import one_line
from infra.settings import Settings

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    from infra.lineage.transports import Outbox

PARENT = "OPENLINEAGE_PARENT_ID"  # NAMESPACE/JOB/RUN of what runs this process, as Airflow's lineage_parent_id gives it
PRODUCER = "urn:lambda-kappa:lk"
_TEXT = 2_000  # characters of an error
R = TypeVar("R")


@dataclass(frozen=True)
class LineageRun:
    """A run of a job for a subject, and the run that it is a part of.

    Its id depends on the lake, the job and the subject alone: a repeated step is the same run.
    """

    namespace: str
    job: str
    subject: str
    parent: ParentRun | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """The UUID of the run."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.namespace}#{self.job}/{self.subject}"))


@dataclass(frozen=True)
class ParentRun:
    """The run that a step is a part of: a switch, or the task of a scheduler."""

    namespace: str
    job: str
    id: str


@dataclass(frozen=True)
class Datasets:
    """What a step reads and writes."""

    inputs: Sequence[InputDataset] = ()
    outputs: Sequence[OutputDataset] = ()


_current: ContextVar[ParentRun | None] = ContextVar("lineage_run", default=None)


def traced(
    settings: Settings, job: str, subject: str, work: Callable[[], R], datasets: Callable[[R | None], Datasets]
) -> R:
    """Does the work of a step and returns its result; with the setting ``lineage_url`` it reports the step.

    ``subject`` is what the step works on, such as a build. ``datasets`` gets the result, or None without one.
    Raises Refused, before the work, when the API key cannot be read.
    """
    if settings.lineage_url is None:
        return work()
    outbox, run = _outbox_of(settings), _run(settings, job, subject)
    _emit(outbox, run, "START", lambda: datasets(None))
    token = _current.set(ParentRun(run.namespace, run.job, run.id))
    try:
        result = work()
    except BaseException as error:
        _emit(outbox, run, "FAIL" if isinstance(error, Exception) else "ABORT", lambda: datasets(None), error)
        raise
    else:
        _emit(outbox, run, "COMPLETE", lambda: datasets(result))
        return result
    finally:
        _current.reset(token)
        outbox.wait()


def report(settings: Settings, job: str, subject: str, state: str, datasets: Callable[[], Datasets]) -> None:
    """Reports one state of a step that several processes work on, such as a replay; nothing without ``lineage_url``."""
    if settings.lineage_url is not None:
        outbox = _outbox_of(settings)
        _emit(outbox, _run(settings, job, subject), state, datasets)
        outbox.wait()


def _outbox_of(settings: Settings) -> Outbox:
    """The outbox of this process. Raises Refused when the API key cannot be read."""
    return _outbox(settings.lineage_url or "", settings.lineage_key_file, settings.log_mebibytes * 1024 * 1024)


@lru_cache(1)
def _outbox(url: str, key_file: Path | None, largest: int) -> Outbox:
    from openlineage.client.facet_v2 import set_producer

    from infra.lineage import transports

    set_producer(PRODUCER)
    return transports.outbox(url, key_file, largest)


def _emit(
    outbox: Outbox, run: LineageRun, state: str, datasets: Callable[[], Datasets], error: BaseException | None = None
) -> None:
    """Gives one event to the outbox. Datasets that cannot be read are left out, and stderr says so."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

    described = Datasets()
    with _warned("the datasets of a lineage event are unknown"):
        described = datasets()
    with _warned("a lineage event could not be made"):
        event = RunEvent(
            eventType=RunState[state],
            eventTime=datetime.now(UTC).isoformat(timespec="milliseconds"),
            run=Run(run.id, facets=_run_facets(run, error)),
            job=Job(run.namespace, run.job, facets=_job_facets()),
            inputs=list(described.inputs),
            outputs=list(described.outputs),
            producer=PRODUCER,
        )
        outbox.add(event)


def _run(settings: Settings, job: str, subject: str) -> LineageRun:
    from infra.lineage.datasets import job_namespace

    return LineageRun(job_namespace(settings), job, subject, _current.get() or _outer_run())


def _outer_run() -> ParentRun | None:
    """What runs this process, such as a task of Airflow; None without a valid OPENLINEAGE_PARENT_ID."""
    place, _, run_id = os.environ.get(PARENT, "").rpartition("/")
    namespace, _, job = place.rpartition("/")
    try:
        return ParentRun(namespace, job, str(uuid.UUID(run_id))) if namespace and job else None
    except ValueError:
        return None


def _run_facets(run: LineageRun, error: BaseException | None) -> dict[str, Any]:
    from openlineage.client.facet_v2 import error_message_run, parent_run

    facets: dict[str, Any] = {}
    if run.parent:
        outer_job = parent_run.Job(run.parent.namespace, run.parent.job)
        facets["parent"] = parent_run.ParentRunFacet(parent_run.Run(run.parent.id), outer_job)
    if error:
        text = error.what if isinstance(error, LkError) else f"{type(error).__name__}: {error}"
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(text[:_TEXT], "python")
    return facets


def _job_facets() -> dict[str, Any]:
    from openlineage.client.facet_v2 import job_type_job

    return {"jobType": job_type_job.JobTypeJobFacet("BATCH", "LAMBDA_KAPPA", jobType="STEP")}


@contextlib.contextmanager
def _warned(what: str) -> Iterator[None]:
    """Says on stderr why lineage is incomplete, and goes on."""
    try:
        yield
    except Exception as e:  # whatever it is, the step goes on
        print(one_line(f"lk: warning: {what}: {type(e).__name__}: {e}"[:500]), file=sys.stderr, flush=True)
