"""Housekeeping of what no run owns: builds and archives that nothing names any more, and the small tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.identifiers import Name, joined
from infra.control import locks, run_roles, runs
from infra.control.builds import Built, add_built, build_number, read_builds
from infra.control.claims import read_claims
from infra.control.publications import Publication
from infra.control.run_endings import read_endings
from infra.lake import archive, delta, files, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from infra.trino import metastore
from serving import recover

_OURS = {"control": ("claims", "publications", "endings"), "batch": ("builds", "comparisons")}

Build = tuple[Name, Name]  # view and build, as the lake has them


@dataclass(frozen=True)
class CleanupResult:
    """What was removed: folders by their place in the lake, and the bytes that they and the small tables took."""

    removed: tuple[str, ...]
    bytes: int


def clean_up(settings: Settings, catalog: Catalog) -> CleanupResult:
    """Frees builds and archive generations that nothing names, and sums up the small tables; safe to repeat.

    What a served view, the target of a rollback or an open intent names stays, and so does whatever may still be
    served: the newest build of each view that passed, and what was claimed since.
    """
    table_paths.open_lake(settings)
    with locks.hold(settings, "control") as lease, locks.hold(settings, "batch") as batch:
        kept = _kept(settings)
        builds = [one for one in table_paths.builds(settings) if one not in kept]
        archives = _archives(settings, catalog, {build for _, build in kept})
        freed = [_free_build(settings, batch, *one) for one in builds]
        freed += [_free(settings, lease, table_paths.archive(settings, *one)) for one in archives]
        summed = _sum_up(settings, {"control": lease, "batch": batch})
    return CleanupResult(tuple(path for path, _ in freed), sum(size for _, size in freed) + summed)


def _kept(settings: Settings) -> set[Build]:
    named = (recover.last_done(settings), run_roles.target(settings), recover.open_intent(settings))
    found = {one for publication in named for one in _named(publication)}
    built = read_builds(settings)
    newest = {one.view: one for one in built if one.passed}
    found |= {(view, one.build) for view, one in newest.items()}
    found |= _of_runs_to_come(settings, built)
    since = {view: build_number(one.build) for view, one in newest.items()}
    return found | {(v, b) for v, b in table_paths.builds(settings) if build_number(b) > since.get(v, 0)}


def _named(publication: Publication | None) -> list[Build]:
    pins = publication.pins if publication else {}
    return [(view, pin.build) for view, pin in pins.items() if pin.build]


def _of_runs_to_come(settings: Settings, built: list[Built]) -> set[Build]:
    """Builds at whose cut a run starts that does not serve yet: it will be served on top of one."""
    its = run_roles.roles(settings)
    idle = [run for run in runs.read_runs(settings) if its[run.id] == "idle" and run.start.ends]
    return {(b.view, b.build) for b in built for run in idle if b.passed and b.cut.only(run.topics) == run.start}


def _archives(settings: Settings, catalog: Catalog, builds: set[Name]) -> list[tuple[Name, Name]]:
    """Topic and decoder of generations that nobody names, where today's holds every offset that they do."""
    ended = read_endings(settings).keys()
    named = [run.decoders for run in runs.read_runs(settings) if run.id not in ended]
    named += [claim.decoders for claim in read_claims(settings) if claim.build in builds]
    found = []
    for topic in table_paths.archived_topics(settings):
        if topic not in catalog.topics:
            continue
        today = archive.generation(settings, topic, catalog.decoder(topic))
        for other in archive.generations(settings, topic):
            spare = other.decoder != today.decoder and not any(n.get(topic) == other.decoder for n in named)
            if spare and other.ends <= today.ends:
                found.append((topic, other.decoder))
    return found


def _free_build(settings: Settings, lease: Lease, view: Name, build: Name) -> tuple[str, int]:
    """First nobody may publish it any more; then Trino forgets it, before its files go."""
    for one in read_builds(settings):
        if (one.view, one.build, one.passed) == (view, build, True):
            add_built(settings, lease, replace(one, passed=False, at=datetime.now(UTC)))
    if ("batch", joined(view, build)) in metastore.tables(settings, "batch"):
        metastore.unregister(settings, "batch", joined(view, build))
    return _free(settings, lease, table_paths.batch(settings, view, build))


def _free(settings: Settings, lease: Lease, path: str) -> tuple[str, int]:
    lease.check()
    size = files.size(path)
    files.remove(path)
    return table_paths.relative(settings, path), size


def _sum_up(settings: Settings, held: Mapping[str, Lease]) -> int:
    """Bytes that the small tables take less."""
    paths = {table_paths.control(settings, Name(table)): lease for table, lease in _tables(held)}
    before = sum(files.size(path) for path in paths)
    for path, lease in paths.items():
        if delta.exists(path):
            delta.compact(path, lease=lease)
            delta.checkpoint(path)
            delta.vacuum(path)
    return max(0, before - sum(files.size(path) for path in paths))


def _tables(held: Mapping[str, Lease]) -> list[tuple[str, Lease]]:
    return [(table, held[name]) for name, tables in _OURS.items() for table in tables]
