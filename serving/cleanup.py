"""Deletes builds, their quality pages and archives that nothing references; compacts control tables and archives."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import TryAgain
from core.identifiers import Name, joined
from infra.control import check_results, locks, run_roles, runs
from infra.control.builds import UNPROVEN_KEPT, PassedBuild, add_built, build_number, passed_builds, read_builds
from infra.control.claims import read_claims
from infra.control.comparisons import latest_by_view
from infra.control.publications import Publication, last_done, open_intent
from infra.control.run_endings import read_endings
from infra.control.store import ControlTable
from infra.lake import archive, compaction, delta, durable, files, table_paths
from infra.lake.leases import Lease
from infra.quality import data_docs_paths
from infra.settings import Settings
from infra.trino import metastore

Build = tuple[Name, Name]  # view and build, as in the lake's folders
_HELD = ("control", "batch")  # leases of tables that a cleanup writes to; it compacts the others, too


@dataclass(frozen=True)
class CleanupResult:
    """The deleted folders, and the bytes that this and compaction freed.

    Folders of tables are relative to the lake, those of quality pages to the data folder.
    """

    removed: tuple[str, ...]
    bytes: int


def clean_up(settings: Settings, catalog: Catalog) -> CleanupResult:
    """Deletes builds and archives that nothing references, compacts the control tables and what is left of archives.

    It is safe to repeat.

    Keeps what a served view, the target of a rollback or an open intent names. Also keeps what may still be served:
    the last build of each view that passed, the last ones that were built since, and those that prove a run which waits
    for a switch. Pages go with their build, but for those of the build that was checked last.
    """
    table_paths.open_lake(settings)
    with locks.hold(settings, "control") as lease, locks.hold(settings, "batch") as batch:
        kept = _kept(settings)
        unused = [build for build in table_paths.builds(settings) if build not in kept]
        archives = _unused_archives(settings, catalog, {build for _, build in kept})
        deleted = [_delete_build(settings, batch, view, build) for view, build in unused]
        deleted += [_delete(settings, lease, table_paths.archive(settings, *archive)) for archive in archives]
        deleted += [_delete_pages(settings, build) for build in _builds_without_tables(settings)]
        compacted_bytes = _compact(settings, locks.PROTECTED["control"], lease)
        compacted_bytes += _compact(settings, locks.PROTECTED["batch"], batch)
    compacted_bytes += _compact_others(settings)
    _merge_archives(settings)
    return CleanupResult(tuple(path for path, _ in deleted), sum(size for _, size in deleted) + compacted_bytes)


def _kept(settings: Settings) -> set[Build]:
    publications = (last_done(settings), run_roles.rollback_target(settings), open_intent(settings))
    kept = {build for publication in publications for build in _pinned_builds(publication)}
    passed = passed_builds(settings)
    last_passed = {row.view: row.build for row in passed}
    kept |= set(last_passed.items())
    kept |= _builds_of_idle_runs(settings, passed)
    return kept | _compared_builds(settings) | _newest_unproven(settings, last_passed)


def _newest_unproven(settings: Settings, last_passed: Mapping[Name, Name]) -> set[Build]:
    """The last tables of each view that are newer than its last build that passed."""
    newer: dict[Name, list[Name]] = {}
    for view, build in sorted(table_paths.builds(settings), key=lambda table: build_number(table[1])):
        if view not in last_passed or build_number(build) > build_number(last_passed[view]):
            newer.setdefault(view, []).append(build)
    return {(view, build) for view, builds in newer.items() for build in builds[-UNPROVEN_KEPT:]}


def _compared_builds(settings: Settings) -> set[Build]:
    """The builds that runs were compared with which a switch may still serve: they are its proof."""
    waiting = [run for run, role in run_roles.roles(settings).items() if role in ("replay", "warm", "idle")]
    latest = [comparison for run in waiting for comparison in latest_by_view(settings, run).values()]
    return {(comparison.view, comparison.build) for comparison in latest}


def _pinned_builds(publication: Publication | None) -> list[Build]:
    pins = publication.pins if publication else {}
    return [(view, pin.build) for view, pin in pins.items() if pin.build]


def _builds_of_idle_runs(settings: Settings, passed: list[PassedBuild]) -> set[Build]:
    """Builds that end where an idle run starts: the run will be served on top of one."""
    roles = run_roles.roles(settings)
    idle = [run for run in runs.read_runs(settings) if roles[run.id] == "idle" and run.start.ends]
    return {(b.view, b.build) for b in passed for run in idle if b.cut.only(run.topics) == run.start}


def _unused_archives(settings: Settings, catalog: Catalog, builds: set[Name]) -> list[tuple[Name, Name]]:
    """Topic and decoder of archives that nothing references and whose offsets the current one holds too."""
    ended = read_endings(settings).keys()
    named = [run.decoders for run in runs.read_runs(settings) if run.id not in ended]
    named += [claim.decoders for claim in read_claims(settings) if claim.build in builds]
    unused = []
    for topic in table_paths.archived_topics(settings):
        if topic not in catalog.topics:
            continue
        current = archive.decoder_archive(settings, topic, catalog.decoder(topic))
        for stored in archive.topic_archives(settings, topic):
            decoder = stored.decoder
            is_named = decoder == current.decoder or any(decoders.get(topic) == decoder for decoders in named)
            if not is_named and stored.ends <= current.ends:
                unused.append((topic, decoder))
    return unused


def _delete_build(settings: Settings, lease: Lease, view: Name, build: Name) -> tuple[str, int]:
    """Marks a build as not publishable and not built, unregisters it in Trino, then deletes its files."""
    for row in read_builds(settings, [build]):
        if row.view == view and row.passed is not False:
            add_built(settings, lease, replace(row, passed=False, at=datetime.now(UTC)))
    if ("batch", joined(view, build)) in metastore.tables(settings, "batch"):
        metastore.unregister(settings, "batch", joined(view, build))
    return _delete(settings, lease, table_paths.batch(settings, view, build))


def _delete(settings: Settings, lease: Lease, path: str) -> tuple[str, int]:
    lease.check()
    size = files.size(path)
    files.remove(path)
    return table_paths.relative(settings, path), size


def _builds_without_tables(settings: Settings) -> list[Name]:
    """The builds that have pages but no table; not the one that was checked last, whose pages the live page shows."""
    kept = {*(build for _, build in table_paths.builds(settings)), check_results.last_checked_build(settings)}
    return [build for build in data_docs_paths.builds_with_pages(settings) if build not in kept]


def _delete_pages(settings: Settings, build: Name) -> tuple[str, int]:
    """Deletes the quality pages of a build; `lk quality` writes them again from the stored results."""
    folder = data_docs_paths.index_of(settings, build).parent
    size = files.size(str(folder))
    files.remove(str(folder))
    return str(folder.relative_to(settings.data)), size


def _merge_archives(settings: Settings) -> None:
    """Merges small files of archives. Publications go on meanwhile; while a batch runs, the next cleanup does it."""
    with contextlib.suppress(TryAgain), locks.hold(settings, "batch") as lease:
        for topic in table_paths.archived_topics(settings):
            for decoder in table_paths.decoders(settings, topic):
                archive.merge_small_files(table_paths.archive(settings, topic, decoder), lease)


def _compact_others(settings: Settings) -> int:
    freed = _compact(settings, [runs.TABLE])  # no lease protects it: each run is declared once
    return freed + sum(_compact_unless_held(settings, name) for name in locks.PROTECTED if name not in _HELD)


def _compact_unless_held(settings: Settings, name: str) -> int:
    """Compacts the tables of a lease; of one that another process holds, the next cleanup does."""
    if not any(delta.exists(table.path(settings)) for table in locks.PROTECTED[name]):
        return 0
    with contextlib.suppress(TryAgain), locks.hold(settings, name) as lease:
        return _compact(settings, locks.PROTECTED[name], lease)
    return 0


def _compact(settings: Settings, tables: Iterable[ControlTable], lease: Lease | None = None) -> int:
    """Compacts control tables, which ``lease`` guards; returns the bytes freed.

    All get today's ``retention_minutes``: their rows are the history, so that nobody reads an older version.
    """
    paths = [path for table in tables if delta.exists(path := table.path(settings))]
    before = sum(files.size(path) for path in paths)
    for path in paths:
        delta.set_retention(path, f"interval {settings.retention_minutes} minutes")
        compaction.compact_and_checkpoint(path, lease=lease)
        durable.sync_table(path, delta.table(path))  # before what it has replaced is deleted
        compaction.vacuum(path)
        durable.sync_table(path, delta.table(path))
    return max(0, before - sum(files.size(path) for path in paths))
