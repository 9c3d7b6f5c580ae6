"""Computes every view from the archive up to a claimed cut: one immutable table per view and build."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from batch.counts import TopicCounts, archives, count_topic, counts_of_view
from batch.range_rebuild import base_rows, require_same_outside
from core.catalog import Catalog
from core.compute.keyed_rows import result_rows, source_rows
from core.compute.partial_rows import combined, partial
from core.compute.range_rows import rebuilt
from core.cut import Cut
from core.identifiers import Name
from core.validation.definition_change import require_same_definitions
from core.view import Keyed, Rollup, View
from infra import faults
from infra.control import locks
from infra.control.builds import BuildCounts, Built, How, add_built, passed_builds, read_builds
from infra.control.claims import Claim, builds_of, claim_of
from infra.lake import checksums, delta, files, parquet_scan, table_paths
from infra.lake.archive import Archive, rows_below
from infra.progress_bar import bar
from infra.settings import Settings
from infra.spark.collected_rows import collected, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from infra.lake.leases import Lease

_FILE_ROWS = 500_000
_FEW = 2_000_000  # records: their rows are collected if they are few, as Spark's writer costs seconds for each view


@dataclass(frozen=True)
class _Plan:
    """How one view is computed: in full, by adding the log since an earlier build, or a range of windows again."""

    view: View
    how: How
    start: Cut
    base: Built | None
    note: str


@dataclass(frozen=True)
class _Work:
    spark: SparkSession
    settings: Settings
    catalog: Catalog
    claim: Claim
    archives: Mapping[Name, Archive]
    lease: Lease


def build(
    spark: SparkSession,
    settings: Settings,
    catalog: Catalog,
    claim: Claim,
    *,
    views: Sequence[Name] | None = None,
    incremental: bool = False,
) -> list[Built]:
    """Builds the claim's views that were not built yet or that the gate refused; returns the row of each.

    ``incremental`` adds the log since the last build where that is exact, else builds in full and notes why.
    The rows have no verdict yet: nothing can be published before the gate has passed.
    """
    require_same_definitions(catalog, claim.views, created="the build was claimed", where=f"build {claim.build}")
    views_to_build = [name for name in claim.views if views is None or name in views]
    with locks.hold(settings, "batch") as lease, bar("building", len(views_to_build), "") as show_progress:
        landed = archives(settings, catalog, claim, catalog.sources(claim.views))
        work = _Work(spark, settings, catalog, claim, landed, lease)
        built_before = {view: b for view, b in builds_of(settings, claim).items() if b.passed is not False}
        plans = [_plan(work, catalog.views[name], incremental) for name in views_to_build if name not in built_before]
        counts = _counts(work, plans)
        built = dict(built_before)
        for number, plan in enumerate(plans):
            built[Name(plan.view.name)] = _build(work, plan, counts[plan.start])
            show_progress(number + 1)
    return [built[name] for name in views_to_build]


def _plan(work: _Work, view: View, incremental: bool) -> _Plan:
    name = Name(view.name)
    if work.claim.rebuild is not None:
        return _Plan(view, "range", work.claim.cut, _built(work, work.claim.rebuild.bases[name], name), "")
    if not incremental:
        return _Plan(view, "full", Cut(), None, "")
    if isinstance(view, Keyed):
        return _Plan(view, "full", Cut(), None, "in full: a late event may change any unit of a keyed view")
    passed = reversed(passed_builds(work.settings, name))
    base = next((b for b in passed if delta.exists(table_paths.batch(work.settings, name, b.build))), None)
    if base is None:
        return _Plan(view, "full", Cut(), None, "in full: there is no earlier build")
    earlier = claim_of(work.settings, base.build)
    if base.digest != work.claim.views[name]:
        return _Plan(view, "full", Cut(), None, f"in full: the definition changed since {base.build}")
    if any(earlier.decoders.get(Name(source)) != work.claim.decoders[Name(source)] for source in view.sources):
        return _Plan(view, "full", Cut(), None, f"in full: a decoder changed since {base.build}")
    if not base.cut.only(view.sources) <= work.claim.cut:
        return _Plan(view, "full", Cut(), None, f"in full: the cut is before that of {base.build}")
    return _Plan(view, "incremental", base.cut, _built(work, base.build, name), f"added to {base.build}")


def _built(work: _Work, build: Name, view: Name) -> Built:
    (built,) = [b for b in read_builds(work.settings, [build]) if b.view == view]
    return built


def _counts(work: _Work, plans: Sequence[_Plan]) -> dict[Cut, dict[Name, TopicCounts]]:
    """One counting pass per start and topic, for all views together."""
    counts: dict[Cut, dict[Name, TopicCounts]] = {}
    for start in {plan.start for plan in plans}:
        counts[start] = {}
        for topic, archive in work.archives.items():
            views = [p.view for p in plans if p.start == start and topic in p.view.sources]
            if views:
                counts[start][topic] = count_topic(work.spark, archive, views, work.claim.cut, start)
    return counts


def _build(work: _Work, plan: _Plan, counts: Mapping[Name, TopicCounts]) -> Built:
    began, name = time.monotonic(), Name(plan.view.name)
    path = table_paths.batch(work.settings, name, work.claim.build)
    work.lease.check()
    files.remove(path)
    faults.at("batch.2_in_build")
    rows = _write(plan.view, _rows(work, plan), path, work.claim.cut)
    faults.at("batch.2_before_built")
    plan = _with_changes(work, plan, path)
    topic_counts = [counts[Name(source)] for source in plan.view.sources]
    used = _count_used(work, plan.view) if isinstance(plan.view, Keyed) else None
    counted = counts_of_view(name, topic_counts, used, plan.base.counts if plan.base else None, plan.note)
    built = _row(work, plan, path, rows, counted, time.monotonic() - began)
    add_built(work.settings, work.lease, built)
    faults.at("batch.2_after_built")
    return built


def _rows(work: _Work, plan: _Plan) -> DataFrame:
    if isinstance(plan.view, Keyed):
        return result_rows(plan.view, _sources(work, plan.view))
    if work.claim.rebuild is not None:
        base = base_rows(work.spark, work.settings, plan.view, work.claim.rebuild)
        events = [(work.catalog.topic(source), _events(work, source, Cut())) for source in plan.view.sources]
        return rebuilt(plan.view, work.claim.rebuild, base, events)
    return _combined_rows(work, plan, plan.view)


def _with_changes(work: _Work, plan: _Plan, path: str) -> _Plan:
    """The plan with a note of what a range rebuild changed. Raises Refused when it changed more than the range."""
    if work.claim.rebuild is None or not isinstance(plan.view, Rollup):
        return plan
    base = base_rows(work.spark, work.settings, plan.view, work.claim.rebuild)
    return replace(
        plan,
        note=require_same_outside(plan.view, work.claim.rebuild, base, parquet_scan.read_table(work.spark, path)),
    )


def _sources(work: _Work, view: Keyed) -> dict[str, DataFrame]:
    """The events that a keyed view queries, by source."""
    topics = {source: work.catalog.topic(source) for source in view.sources}
    return {name: source_rows(view, topic, _events(work, name, Cut())) for name, topic in topics.items()}


def _events(work: _Work, source: str, start: Cut) -> DataFrame:
    return rows_below(work.spark, work.archives[Name(source)], work.claim.cut, start)


def _combined_rows(work: _Work, plan: _Plan, view: Rollup) -> DataFrame:
    """Partial rows of every source and of the earlier build, combined."""
    parts = [partial(view, work.catalog.topic(source), _events(work, source, plan.start)) for source in view.sources]
    if plan.base:
        base = table_paths.batch(work.settings, plan.base.view, plan.base.build)
        parts.append(parquet_scan.read_table(work.spark, base))
    return combined(view, parts)


def _count_used(work: _Work, view: Keyed) -> int:
    """How many events the query read; the gate compares it with the count event by event."""
    return sum(rows.count() for rows in _sources(work, view).values())


def _write(view: View, rows: DataFrame, path: str, cut: Cut) -> int:
    """Writes the rows, sorted by key within each file so that a query of some keys reads few files.

    Returns how many rows the writers counted.
    """
    keys = [column.name for column in (view.unit_columns if isinstance(view, Keyed) else view.key_columns)]
    few = collected(rows.coalesce(1).sortWithinPartitions(*keys)) if cut.only(view.sources).size <= _FEW else None
    if few is not None:
        delta.write_new(path, few)
    else:
        writer = rows.sortWithinPartitions(*keys).write.format("delta").option("maxRecordsPerFile", _FILE_ROWS)
        writer.options(**delta.statistics(schema_of(rows))).mode("error").save(path)
    checksums.record(path, delta.version(path))
    return delta.row_count(path)


def _row(work: _Work, plan: _Plan, path: str, rows: int, counts: BuildCounts, seconds: float) -> Built:
    name = Name(plan.view.name)
    return Built(
        build=work.claim.build,
        view=name,
        digest=work.claim.views[name],
        cut=work.claim.cut,
        path=table_paths.relative(work.settings, path),
        rows=rows,
        ledger_ok=counts.ok,
        counts=counts,
        passed=None,
        at=datetime.now(UTC),
        seconds=seconds,
        how=plan.how,
    )
