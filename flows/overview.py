"""The whole instance in one look: servers, views, the ledger, and everything that is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from core.catalog import Catalog
from core.errors import TryAgain
from infra.local import local_stack
from infra.settings import Settings
from serving import alarms
from serving import status as serving
from serving.alarms import ViewAlarms


@dataclass(frozen=True)
class Overview:
    """Processes, views, the ledger's lines; ``unhealthy`` is empty when all is well."""

    processes: tuple[local_stack.ServerState, ...]
    views: tuple[serving.ViewState, ...]
    partitions: tuple[serving.PartitionCounts, ...]
    rows: tuple[serving.ViewCounts, ...]
    unhealthy: tuple[str, ...]


def status(settings: Settings, catalog: Catalog) -> Overview:
    """Reads everything, also while servers are down."""
    processes = local_stack.server_states(settings)
    down = [
        f"{one.name} is {one.status}: `lk up` starts it" + (f"; see {one.log}" if one.log and one.log.exists() else "")
        for one in processes
        if one.status != "up"
    ]
    served = serving.status(settings, catalog)
    return Overview(processes, served.views, served.partitions, served.rows, (*down, *served.unhealthy))


def watch(settings: Settings, catalog: Catalog, every: int | None, tell: Callable[[ViewAlarms], None]) -> None:
    """Tells the signals of every view, once or ``every`` so many seconds; a server that is down is not told of."""
    while True:
        try:
            for one in alarms.view_alarms(settings, catalog):
                tell(one)
        except TryAgain:
            if every is None:
                raise
        if every is None:
            return
        time.sleep(every)
