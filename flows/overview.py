"""The state of the whole instance: servers, views, record counts, and everything that is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from core.catalog import Catalog
from core.errors import RESUME_RUN, TryAgain
from flows import quarantine_shares
from flows.erase import unfinished
from infra.definitions import definition_files
from infra.definitions.definition_problem import DefinitionProblem
from infra.local import local_stack
from infra.local.other_instances import OtherInstance, other_instances
from infra.settings import Settings
from serving import alarms
from serving.alarms import ViewAlarms
from serving.ledger import PartitionCounts, ViewCounts
from serving.served_status import ViewState, served_status
from speed.process import background
from speed.quarantine.share import QuarantineShare


@dataclass(frozen=True)
class Overview:
    """Processes, views, record and row counts. ``unhealthy`` says what is wrong; empty if nothing is.

    ``shares`` are the topics with too many records in quarantine. ``others`` are the instances of this user that run on
    this machine beside this one.
    """

    processes: tuple[local_stack.ServerState, ...]
    views: tuple[ViewState, ...]
    partitions: tuple[PartitionCounts, ...]
    rows: tuple[ViewCounts, ...]
    shares: tuple[QuarantineShare, ...]
    unhealthy: tuple[str, ...]
    others: tuple[OtherInstance, ...]


def status(settings: Settings) -> Overview:
    """The state of the instance, also while servers are down and while definition files have mistakes."""
    catalog, problems = definition_files.load_usable(settings)
    with ThreadPoolExecutor() as beside:  # what waits for Trino most of its time
        probed = beside.submit(local_stack.server_states, settings)
        too_many = beside.submit(quarantine_shares.served_shares, settings, catalog)
        served = served_status(settings, catalog)
    processes, shares = probed.result(), too_many.result()
    lines = (
        *map(_mistake, problems),
        *served.unhealthy,
        *unfinished(settings, catalog),
        *(share.line for share in shares),
    )
    unhealthy = (*process_problems(processes), *lines)
    return Overview(
        processes, served.views, served.partitions, served.rows, shares, unhealthy, other_instances(settings)
    )


def process_problems(processes: Iterable[local_stack.ServerState]) -> tuple[str, ...]:
    """What is wrong with the processes, as `lk status` says it."""
    return tuple(_down(process) for process in processes if process.status != "up")


def _down(process: local_stack.ServerState) -> str:
    log = f"; see {process.log}" if process.log and process.log.exists() else ""
    if process.status == "not answering":  # `lk up` leaves every process alone that runs
        end = f"`kill {process.pid}` (`kill -9 {process.pid}` if it stays)"
        return f"{process.name} is not answering: if it has not just started, {end}, then `lk up`{log}"
    state = "died" if process.status == "died" else f"is {process.status}"
    verb = f"{RESUME_RUN}," if process.name.startswith(background.PREFIX) else "`lk up`"
    return f"{process.name} {state}: {verb} starts it{log}"


def _mistake(problem: DefinitionProblem) -> str:
    return f"a definition is {problem.not_used}"


def watch(settings: Settings, catalog: Catalog, every: int | None, report: Callable[[ViewAlarms], None]) -> None:
    """Reports the alarms of every view, once or every ``every`` seconds.

    Raises TryAgain if a server is down; with ``every`` it tries again at the next time.
    """
    while True:
        try:
            for view in alarms.view_alarms(settings, catalog):
                report(view)
        except TryAgain:
            if every is None:
                raise
        if every is None:
            return
        time.sleep(every)
