"""Counts the records and view rows of a build record by record, without grouping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.catalog import Catalog
from core.compute.partial_rows import record_counts, totals_of
from core.cut import Cut
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts, account_for
from core.view import View
from infra.control.builds import BuildCounts
from infra.control.claims import Claim
from infra.lake.archive import Archive, archive_up_to, rows_below
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class TopicCounts:
    """The record counts of one topic between two cuts; ``problems`` says where offsets disagree.

    ``partitions`` is by ``topic/partition``, ``rows`` are view rows by view.
    """

    partitions: Mapping[str, RecordCounts]
    rows: Mapping[Name, int]
    problems: tuple[str, ...]


def archives(settings: Settings, catalog: Catalog, claim: Claim, topics: Iterable[Name]) -> dict[Name, Archive]:
    """The archive of each topic, by the claim's decoder. Raises Refused when one ends before the cut."""
    return {
        name: archive_up_to(settings, catalog.topic(name), claim.decoders[name], claim.cut, "run `lk land` first")
        for name in sorted(topics)
    }


def count_topic(spark: SparkSession, archive: Archive, views: Sequence[View], cut: Cut, start: Cut) -> TopicCounts:
    """Counts one topic between two cuts without grouping, and compares with the number of offsets."""
    rows = record_counts(views, rows_below(spark, archive, cut, start)).collect()
    total = totals_of((row.asDict() for row in rows), (view.name for view in views))
    problems = []
    for span in cut.only([archive.topic]).since(start):
        where = str(LogPartition(span.topic, span.partition))
        counts = total.partitions.get(where, RecordCounts())
        is_sum = counts.records == counts.decoded + counts.quarantined
        if not (is_sum and account_for(counts.records, span.size, gaps=archive.gaps)):
            problems.append(
                f"{where}: {span.size} offsets, {counts.decoded} decoded and {counts.quarantined} quarantined records"
            )
    return TopicCounts(total.partitions, total.rows, tuple(problems))


def counts_of_view(
    view: Name, topics: Sequence[TopicCounts], used: int | None, base: BuildCounts | None, note: str
) -> BuildCounts:
    """The counts of a view over all its topics; ``base`` has those of the build that an incremental one adds to."""
    before = base or BuildCounts()
    total = dict(before.partitions)
    for topic in topics:
        for where, counts in topic.partitions.items():
            total[where] = total.get(where, RecordCounts()) + counts
    return BuildCounts(
        used=used,
        expected=before.expected + sum(topic.rows[view] for topic in topics),
        problems=tuple(problem for topic in topics for problem in topic.problems),
        partitions=dict(sorted(total.items())),
        note=note,
    )
