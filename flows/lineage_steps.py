"""The steps that are reported as lineage, with what each reads and writes.

Each function does what the function of its name in batch/, serving/ or flows/ does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import batch.build
import batch.gate
import batch.land
import serving.publish
from batch.gate import GateResult
from batch.land import Landed
from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows.serving_lineage import served_datasets
from infra.control.builds import Built
from infra.control.claims import Claim
from infra.control.manifest import last_epoch
from infra.control.publications import Publication
from infra.lake import archive, table_paths
from infra.lineage.step_events import Datasets, report, traced
from infra.settings import Settings
from serving.publish import PublishKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from core.view import View
    from infra.control.runs import Run
    from infra.lineage.column_sources import ColumnSources

R = TypeVar("R")
_SOURCES: dict[Name, ColumnSources] = {}  # by the digest of a view


def land(spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim) -> list[Landed]:
    """Lands the log up to the cut of a claim."""
    return traced(
        settings,
        "land",
        claim.build,
        lambda: batch.land.land(spark, settings, catalog, claim.cut, claim.run),
        lambda landed: _landing(settings, catalog, claim, landed or []),
    )


def build(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, *, incremental: bool = False
) -> list[Built]:
    """Builds the views of a claim."""
    return traced(
        settings,
        "build",
        claim.build,
        lambda: batch.build.build(spark, settings, catalog, claim, incremental=incremental),
        lambda built: _building(settings, catalog, claim, built or []),
    )


def gate(spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim) -> GateResult:
    """Checks the build of a claim. A check that fails is an assertion of the event; the step itself is complete."""
    return traced(
        settings,
        "gate",
        claim.build,
        lambda: batch.gate.gate(spark, settings, catalog, claim),
        lambda gated: _gating(settings, catalog, claim, gated),
    )


def gated(settings: Settings, catalog: Catalog, claim: Claim) -> GateResult:
    """The stored result of a gate, reported again: a crash may have kept the end of the step back."""
    return traced(
        settings,
        "gate",
        claim.build,
        lambda: batch.gate.result_of(settings, claim),
        lambda result: _gating(settings, catalog, claim, result),
    )


def publish(settings: Settings, catalog: Catalog, build: Name, *, why: str, kind: PublishKind = "build") -> Publication:
    """Serves a build."""
    return traced(
        settings,
        "publish",
        build,
        lambda: serving.publish.publish(settings, catalog, build, why=why, kind=kind),
        lambda publication: served_datasets(settings, catalog, publication),
    )


def replay_started(settings: Settings, catalog: Catalog, run: Run) -> None:
    """Reports that a replay starts, or is resumed."""
    report(settings, "replay", run.id, "START", lambda: _replaying(settings, catalog, run))


def replay_caught_up(settings: Settings, run: Run, wait: Callable[[], R]) -> R:
    """Waits for a replay by ``wait``; reports that it has caught up, or that it failed if that raises Refused."""
    try:
        result = wait()
    except Refused:
        report(settings, "replay", run.id, "FAIL", lambda: _replayed(settings, run))
        raise
    report(settings, "replay", run.id, "COMPLETE", lambda: _replayed(settings, run))
    return result


def replay_abandoned(settings: Settings, run: Run) -> None:
    """Reports that a replay is given up."""
    report(settings, "replay", run.id, "ABORT", Datasets)


def _landing(settings: Settings, catalog: Catalog, claim: Claim, landed: Sequence[Landed]) -> Datasets:
    from infra.lineage import datasets

    gained = {topic.topic: topic for topic in landed}
    topics = [name for name in catalog.topics if claim.cut.only([name]).ends]
    inputs = [datasets.topic_input(settings, name, claim.cut, catalog.topics[name]) for name in topics]
    outputs = []
    for name in topics:
        path, of = table_paths.archive(settings, name, claim.decoders[name]), gained.get(name)
        records = of.records + of.redecoded if of else None
        added = _landed_size(settings, claim.decoders[name], of) if of else None
        outputs.append(datasets.archive_output(settings, catalog.topics[name], path, records, added))
    return Datasets(inputs, outputs)


def _landed_size(settings: Settings, decoder: Name, landed: Landed) -> tuple[int, int]:
    """The bytes and the number of the files with the records that a landing has added."""
    files = archive.decoder_archive(settings, landed.topic, decoder).files
    sizes = [file.size for file in files if any(map(file.span.meets, landed.spans))]
    return sum(sizes), len(sizes)


def _building(settings: Settings, catalog: Catalog, claim: Claim, built: Sequence[Built]) -> Datasets:
    from infra.lineage import datasets

    views = [catalog.view(name) for name in claim.views]
    archives = _archives(settings, claim, catalog.sources(claim.views))
    rows = {view_built.view: view_built.rows for view_built in built}
    dataset_ids = {str(topic): datasets.table_dataset(settings, path) for topic, path in archives.items()}
    outputs = [
        datasets.build_output(
            settings,
            view,
            table_paths.batch(settings, Name(view.name), claim.build),
            rows.get(Name(view.name)),
            _sources_of(catalog, view),
            dataset_ids,
        )
        for view in views
    ]
    bases = claim.rebuild.bases if claim.rebuild else {}
    copied = [datasets.table_dataset(settings, table_paths.batch(settings, view, base)) for view, base in bases.items()]
    return Datasets([datasets.table_input(dataset_id) for dataset_id in [*dataset_ids.values(), *copied]], outputs)


def _sources_of(catalog: Catalog, view: View) -> ColumnSources:
    """The sources of a view's columns; the start and the end of a step parse its SQL once."""
    from infra.lineage import column_sources

    digest = catalog.digest(Name(view.name))
    if digest not in _SOURCES:
        _SOURCES[digest] = column_sources.stored_sources(view, catalog.topics)
    return _SOURCES[digest]


def _gating(settings: Settings, catalog: Catalog, claim: Claim, gated: GateResult | None) -> Datasets:
    from infra.control.builds import read_builds
    from infra.control.check_results import TOPIC
    from infra.lineage import datasets

    rows = {built.view: built.rows for built in read_builds(settings, [claim.build])} if gated else {}
    checks = gated.checks if gated else ()
    views = [
        datasets.checked_input(
            settings,
            table_paths.batch(settings, view, claim.build),
            catalog.view(view),
            [check for check in checks if check.view == view],
            rows.get(view),
        )
        for view in claim.views
    ]
    topics = [
        datasets.checked_input(settings, path, None, [check for check in checks if check.view == TOPIC + topic], None)
        for topic, path in _archives(settings, claim, catalog.sources(claim.views)).items()
    ]
    return Datasets([*topics, *views])


def _replaying(settings: Settings, catalog: Catalog, run: Run) -> Datasets:
    from infra.lineage import datasets

    dataset_ids = {str(name): datasets.topic_dataset(settings, name) for name in run.topics}
    inputs = [datasets.topic_input(settings, name, run.start, catalog.topics.get(name)) for name in run.topics]
    outputs = []
    for view in (catalog.views[name] for name in run.views if name in catalog.views):
        path = table_paths.speed(settings, run.id, Name(view.name))
        outputs.append(datasets.build_output(settings, view, path, None, _sources_of(catalog, view), dataset_ids))
    return Datasets(inputs, outputs)


def _replayed(settings: Settings, run: Run) -> Datasets:
    """What a replay has read until now, and its tables with their rows of every epoch."""
    from infra.lineage import datasets

    last = last_epoch(settings, run.id)
    end, rows = (last.end, last.total.rows) if last else (run.start, {})
    inputs = [datasets.topic_input(settings, name, end, None) for name in run.topics]
    paths = {view: table_paths.speed(settings, run.id, view) for view in run.views}
    return Datasets(inputs, [datasets.run_output(settings, path, rows.get(view, 0)) for view, path in paths.items()])


def _archives(settings: Settings, claim: Claim, topics: Sequence[Name]) -> dict[Name, str]:
    return {topic: table_paths.archive(settings, topic, claim.decoders[topic]) for topic in topics}
