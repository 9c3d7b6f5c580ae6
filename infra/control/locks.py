"""The leases of the control tables: which lease protects which tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from infra.control import (
    audit,
    builds,
    check_results,
    claims,
    comparisons,
    erasures,
    publications,
    redrives,
    route_runs,
    run_endings,
    runs,
)
from infra.lake import delta, lease_table, leases, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings

PROTECTED = {
    "control": (claims.TABLE, publications.TABLE, run_endings.TABLE),
    "batch": (builds.TABLE, check_results.TABLE, comparisons.TABLE),
    "routes": (route_runs.TABLE,),
    "redrives": (redrives.TABLE,),
    erasures.LEASE: (erasures.TABLE,),
    audit.LEASE: (audit.TABLE,),
}
_CHECKPOINT_EVERY = 20  # commits; each holder adds one to every table of its lease, and every open reads those since


@contextlib.contextmanager
def hold(settings: Settings, name: str) -> Iterator[Lease]:
    """Holds one of the leases of ``PROTECTED``; creates and fences the tables that it protects.

    Raises Refused when one of them is damaged.
    """
    paths = [table.path(settings) for table in PROTECTED[name]]
    for table, path in zip(PROTECTED[name], paths, strict=True):
        if not delta.exists(path):
            delta.create(path, table.schema, checkpoint_every=_CHECKPOINT_EVERY)
        delta.require_whole(path)
    with leases.hold(settings, name, fenced=paths) as lease:
        yield lease


def existing_tables(settings: Settings) -> dict[str, str]:
    """Name -> path of every control table that exists, also those without a lease."""
    tables = [table for protected in PROTECTED.values() for table in protected] + [runs.TABLE]
    paths = {table.name: table.path(settings) for table in tables}
    paths[lease_table.TABLE] = table_paths.control(settings, lease_table.TABLE)
    return {name: path for name, path in paths.items() if delta.exists(path)}
