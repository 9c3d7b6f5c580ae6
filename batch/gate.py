"""The gate: what must hold of a build before it may be published. Evaluated in Spark, on what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as fn

from core.cut import Cut
from core.ident import Name
from core.partial import ledger
from core.view import ROWS, View
from infra.archive import Archive, below

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Count:
    """One topic's records between two cuts, counted; ``problems`` says where offsets disagree.

    ``partitions`` is ``topic/partition`` -> records, decoded, quarantined.
    """

    partitions: Mapping[str, tuple[int, int, int]]
    rows: Mapping[Name, int]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What the gate found: rows written, and per check how many rows break it, or why it could not be asked."""

    rows: int
    counted: int
    expected: int
    failures: Mapping[str, int | str]
    problems: tuple[str, ...]
    ledger: Mapping[str, tuple[int, int, int]]

    @property
    def ledger_ok(self) -> bool:
        """Every record of the span is decoded or quarantined, and every view row is in the build once."""
        return not self.problems and self.counted == self.expected

    @property
    def passed(self) -> bool:
        """Whether it may be published."""
        return self.ledger_ok and not self.failures

    def text(self, note: str) -> str:
        """For the control table."""
        found: dict[str, Any] = {"counted": self.counted, "expected": self.expected, "failures": dict(self.failures)}
        found |= {"problems": list(self.problems), "ledger": dict(self.ledger), "note": note}
        return json.dumps(found, sort_keys=True)


def count(spark: SparkSession, archive: Archive, views: Sequence[View], cut: Cut, start: Cut) -> Count:
    """Counts one topic between two cuts, apart from any grouping, and compares with the offsets spanned."""
    rows = ledger(views, below(spark, archive, cut, start)).collect()
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
    return Count(found, counted, tuple(problems))


def judge(view: View, built: DataFrame, counts: Sequence[Count], base: str | None, used: int | None = None) -> Verdict:
    """Counts the build's rows and evaluates every check; one that cannot be evaluated fails by its name.

    ``base`` is what the gate said of the build that this one was added to, ``used`` how many events a keyed view had.
    """
    try:
        row = built.agg(*_totals(), *(_broken(check.sql).alias(f"check_{check.name}") for check in view.checks)).first()
        broken: dict[str, int | str] = {check.name: row[f"check_{check.name}"] for check in view.checks} if row else {}
    except PySparkException:
        row = built.agg(*_totals()).first()
        broken = {check.name: _alone(built, check.sql) for check in view.checks}
    totals = row.asDict() if row else {}
    failures = {name: found for name, found in broken.items() if found != 0}
    before: dict[str, Any] = json.loads(base) if base else {"expected": 0, "ledger": {}}
    return Verdict(
        rows=totals["n"],
        counted=int(totals["counted"]) if used is None else used,
        expected=before["expected"] + sum(count.rows[Name(view.name)] for count in counts),
        failures=failures,
        problems=tuple(problem for count in counts for problem in count.problems),
        ledger=_added([before["ledger"], *(count.partitions for count in counts)]),
    )


def _added(ledgers: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, tuple[int, int, int]]:
    total: dict[str, tuple[int, int, int]] = {}
    for where, more in (item for ledger_ in ledgers for item in ledger_.items()):
        a, b, c = total.get(where, (0, 0, 0))
        total[where] = (a + more[0], b + more[1], c + more[2])
    return dict(sorted(total.items()))


def _totals() -> list[Any]:
    return [fn.count(fn.lit(1)).alias("n"), fn.coalesce(fn.sum(ROWS), fn.lit(0)).alias("counted")]


def _broken(sql: str) -> Any:
    return fn.count_if(~fn.coalesce(fn.expr(sql).cast("boolean"), fn.lit(False)))


def _alone(built: DataFrame, sql: str) -> int | str:
    try:
        row = built.agg(_broken(sql).alias("n")).first()
        return int(row["n"]) if row else 0
    except PySparkException as e:
        return f"cannot be evaluated: {str(e).splitlines()[0]}"
