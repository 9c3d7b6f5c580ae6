"""The ledger of a build: records and view rows counted record by record, apart from any grouping."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from core.catalog import Catalog
from core.compute.rollup import record_counts
from core.cut import Cut
from core.decoding.decode import decoded_ddl
from core.errors import Refused
from core.identifiers import Name
from core.view import View
from infra.control.claims import Claim
from infra.lake.archive import Archive, below, generation
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class TopicCounts:
    """One topic's records between two cuts, counted; ``problems`` says where offsets disagree.

    ``partitions`` is ``topic/partition`` -> records, decoded, quarantined.
    """

    partitions: Mapping[str, tuple[int, int, int]]
    rows: Mapping[Name, int]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class BuildCounts:
    """What a build of one view was counted to hold, as it is kept in control.builds.

    ``counted`` are the events that a keyed view was computed from; of a rollup the gate tells what its rows add up to.
    ``ledger`` is ``topic/partition`` -> records, decoded, quarantined; ``failures`` are why the gate refuses.
    """

    counted: int | None
    expected: int
    problems: tuple[str, ...]
    ledger: Mapping[str, tuple[int, int, int]]
    note: str = ""
    failures: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> BuildCounts:
        """From the JSON that ``str(counted)`` gives."""
        found = json.loads(text)
        return BuildCounts(**{**found, **{name: tuple(found[name]) for name in ("problems", "failures")}})

    def __str__(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def ok(self) -> bool:
        """Every record of the span is decoded or quarantined, and what is known of the rows agrees with them."""
        return not self.problems and self.counted in (None, self.expected)

    def records(self, topic: str) -> tuple[int, int, int]:
        """Records, decoded and quarantined, of a topic."""
        mine = [counts for where, counts in self.ledger.items() if where.rpartition("/")[0] == topic]
        records, decoded, quarantined = (sum(counts[n] for counts in mine) for n in range(3))
        return records, decoded, quarantined


def archives(settings: Settings, catalog: Catalog, claim: Claim, topics: Iterable[Name]) -> dict[Name, Archive]:
    """The archive of each topic, by the claim's decoder. Raises Refused when one ends before the cut."""
    looked = {name: generation(settings, name, claim.decoders[name]) for name in sorted(topics)}
    found = {name: replace(a, columns=decoded_ddl(catalog.topic(name))) for name, a in looked.items()}
    for name, archive in found.items():
        short = archive.short_of(claim.cut)
        if short:
            raise Refused(
                f"the archive ends before the cut of {claim.build}",
                where=f"topic {name}, partition {short[0].partition}: {short[0].start} of {short[0].end}",
                fix="run `lk land` first",
            )
    return found


def count_topic(spark: SparkSession, archive: Archive, views: Sequence[View], cut: Cut, start: Cut) -> TopicCounts:
    """Counts one topic between two cuts, apart from any grouping, and compares with the offsets spanned."""
    rows = record_counts(views, below(spark, archive, cut, start)).collect()
    found = {
        f"{archive.topic}/{row['_partition']}": (row["records"], row["decoded"], row["quarantined"]) for row in rows
    }
    problems = []
    for span in cut.only([archive.topic]).since(start):
        where = f"{span.topic}/{span.partition}"
        records, decoded, quarantined = found.get(where, (0, 0, 0))
        if records != decoded + quarantined or records > span.size or (records < span.size and not archive.gaps):
            problems.append(f"{where}: {span.size} offsets, {decoded} decoded and {quarantined} quarantined records")
    counted = {Name(view.name): sum(row[f"rows_{view.name}"] for row in rows) for view in views}
    return TopicCounts(found, counted, tuple(problems))


def counts_of_view(
    view: Name, counts: Sequence[TopicCounts], used: int | None, base: str | None, note: str
) -> BuildCounts:
    """What all topics of a view were counted to give; ``base`` is what was kept of the build that this one adds to."""
    before = BuildCounts.parse(base) if base else BuildCounts(None, 0, (), {})
    return BuildCounts(
        counted=used,
        expected=before.expected + sum(count.rows[view] for count in counts),
        problems=tuple(problem for count in counts for problem in count.problems),
        ledger=_added([before.ledger, *(count.partitions for count in counts)]),
        note=note,
    )


def _added(ledgers: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, tuple[int, int, int]]:
    total: dict[str, tuple[int, int, int]] = {}
    for where, more in (item for ledger_ in ledgers for item in ledger_.items()):
        a, b, c = total.get(where, (0, 0, 0))
        total[where] = (a + more[0], b + more[1], c + more[2])
    return dict(sorted(total.items()))
