"""The leases of the control tables: which lease protects which tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from infra.control import builds, check_results, claims, comparisons, publications, redrives, route_runs, run_endings
from infra.lake import delta, leases
from infra.lake.leases import Lease
from infra.settings import Settings

_PROTECTED = {
    "control": (claims.TABLE, publications.TABLE, run_endings.TABLE),
    "batch": (builds.TABLE, check_results.TABLE, comparisons.TABLE),
    "routes": (route_runs.TABLE,),
    "redrives": (redrives.TABLE,),
}


@contextlib.contextmanager
def hold(settings: Settings, name: str) -> Iterator[Lease]:
    """Holds the lease "control", "batch", "routes" or "redrives", with the tables that it protects made and fenced."""
    paths = []
    for table in _PROTECTED[name]:
        paths.append(table.path(settings))
        if not delta.exists(paths[-1]):
            delta.create(paths[-1], table.schema)
    with leases.hold(settings, name, fenced=paths) as lease:
        yield lease
