"""Judges what was built: makes a suite of each view and topic, has it asked, and writes what was found."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as fn

from batch.counts import archives
from core.catalog import Catalog
from core.errors import TryAgain
from core.event_columns import ERROR
from core.gate_checks import (
    BROKEN,
    CONTROL_TOTAL,
    BuildFacts,
    CheckOutcome,
    GateCheck,
    refusals,
    topic_suite,
    view_suite,
)
from core.view import Rollup, View
from infra import faults
from infra.control import check_results
from infra.control.builds import Built, add_built, read_builds
from infra.control.check_results import TOPIC, CheckResult
from infra.control.claims import Claim
from infra.lake import parquet_scan, table_paths
from infra.lake.archive import rows_below
from infra.progress_bar import bar
from infra.settings import Settings
from infra.spark.session import driver_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from infra.lake.leases import Lease
    from infra.quality.expectations import SuiteRun

_FIRST = 5  # rows that break a check are listed up to here; all are counted


@dataclass(frozen=True)
class _Asked:
    """A suite, what it gave, and how long that took."""

    suite: SuiteRun
    answers: tuple[CheckOutcome, ...]
    seconds: float

    @property
    def refusals(self) -> tuple[str, ...]:
        return refusals(self.suite.questions, self.answers)


def evaluate(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, built: Sequence[Built], lease: Lease
) -> None:
    """Judges the views of a build that were not judged yet, and their topics.

    What was found is written in one commit, then which views passed.
    """
    from infra.quality import expectations

    paths: dict[str, str] = {one.view: table_paths.batch(settings, one.view, one.build) for one in built}
    frames = {view: parquet_scan.read_table(spark, path) for view, path in paths.items()}
    waiting = [one for one in built if one.passed is None]
    suites = _topics(spark, settings, catalog, claim, waiting)
    for one in waiting:
        view = catalog.views[one.view]
        questions = view_suite(view, _ledger(settings, view, one, claim), claim.views)
        suites.append(expectations.SuiteRun(one.view, frames[one.view], questions))
    asked = []
    with (
        bar("judging", len(suites), "") as done,
        expectations.open_context(frames, settings.log_dir / "gate.log") as context,
    ):
        for suite in suites:
            lease.check()
            asked.append(_ask(context, suite))
            done(len(asked))
        _insist_alive(spark, settings)
    now = datetime.now(UTC)
    rows = [row for one in asked for row in _rows(catalog, claim, one, now)]
    results = {one.suite.name: one for one in asked}
    faults.reach("batch.3_in_gate")
    check_results.add_results(settings, lease, rows)
    faults.reach("batch.3_before_passed")
    verdicts = [_verdict(catalog.views[one.view], one, results, now) for one in waiting]
    add_built(settings, lease, *verdicts)


def _topics(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, waiting: Sequence[Built]
) -> list[SuiteRun]:
    """Each topic's archive up to the cut, as how many records have which text of broken rules."""
    from infra.quality.expectations import SuiteRun

    suites = []
    sources = catalog.sources(one.view for one in waiting)
    for name, archive in archives(settings, catalog, claim, sources).items():
        reader = next(one for one in waiting if name in catalog.views[one.view].sources)
        counts = reader.counts.of_topic(name)
        frame = rows_below(spark, archive, claim.cut).groupBy(ERROR).agg(fn.count(fn.lit(1)).alias(BROKEN))
        suites.append(
            SuiteRun(TOPIC + name, frame, topic_suite(catalog.topic(name), counts.records, counts.quarantined))
        )
    return suites


def _ledger(settings: Settings, view: View, built: Built, claim: Claim) -> BuildFacts:
    counts = built.counts
    return BuildFacts(
        written=built.rows,
        expected=counts.expected,
        used=counts.used,
        good={source: counts.of_topic(source).decoded for source in view.sources},
        problems=counts.problems,
        before=_before(settings, view, built) if isinstance(view, Rollup) else None,
        claimed_at=claim.at,
    )


def _before(settings: Settings, view: View, built: Built) -> int | None:
    """Rows of the newest other build of the definition that passed and is not ahead of this one."""
    same = [
        one.rows
        for one in read_builds(settings)
        if (one.view, one.digest, one.passed) == (built.view, built.digest, True)
        and one.build != built.build
        and one.cut.only(view.sources) <= built.cut
    ]
    return same[-1] if same else None


def _ask(context: Any, suite: SuiteRun) -> _Asked:
    from infra.quality.expectations import evaluate_suite, first_line

    began = time.monotonic()
    try:
        answers = evaluate_suite(suite, context)
    except Exception as e:  # whatever it is: what could not be asked did not pass
        answers = [CheckOutcome(question.name, success=False, crash=first_line(e)) for question in suite.questions]
    return _Asked(suite, tuple(answers), time.monotonic() - began)


def _insist_alive(spark: SparkSession, settings: Settings) -> None:
    """When Spark has ended, nothing was found out about the build."""
    try:
        spark.range(1).count()
    except Exception:  # of a JVM that is gone py4j raises several kinds
        log = str(driver_log(settings, "batch"))
        raise TryAgain("Spark ended while the gate asked", where=log, fix="run the command again") from None


def _rows(catalog: Catalog, claim: Claim, asked: _Asked, now: datetime) -> list[CheckResult]:
    answers = {answer.name: answer for answer in asked.answers}
    missing = CheckOutcome("", success=False, crash="it gave no result")
    return [
        _row(catalog, claim, asked, question, answers.get(question.name, missing), now)
        for question in asked.suite.questions
    ]


def _row(
    catalog: Catalog, claim: Claim, asked: _Asked, question: GateCheck, answer: CheckOutcome, now: datetime
) -> CheckResult:
    counts = (question.broken or question.keys) and answer.observed is not None
    return CheckResult(
        build=claim.build,
        view=asked.suite.name,
        check=question.name,
        severity=question.severity,
        success=answer.success,
        unexpected=int(str(answer.observed)) if counts else None,
        found=answer.observed,
        expected=answer.expected,
        exception=answer.crash or None,
        first=json.dumps([] if answer.success or answer.crash else _first(catalog, asked.suite, question)),
        detail=question.description,
        at=now,
        seconds=asked.seconds,
        comparison=question.comparison,
    )


def _first(catalog: Catalog, suite: SuiteRun, question: GateCheck) -> list[Any]:
    """The keys of some rows of a view that break a check; records that break a rule are in quarantine."""
    from infra.quality.expectations import repeated_keys

    if suite.name.startswith(TOPIC) or not (question.broken or question.keys):
        return []
    keys = [column.name for column in catalog.view(suite.name).key_columns]
    wrong = repeated_keys(suite.frame, keys) if question.keys else suite.frame.where(question.broken)
    text = fn.to_json(fn.struct(*keys)).alias("text")
    try:
        return [json.loads(row["text"]) for row in wrong.select(text).limit(_FIRST).collect()]
    except PySparkException:
        return []  # it was counted; that other rows cannot be read changes nothing


def _verdict(view: View, built: Built, results: Mapping[str, _Asked], now: datetime) -> Built:
    """The row of a view that was judged: it passed when its own suite did, and those of its topics."""
    mine = results[built.view]
    reasons = list(mine.refusals)
    for source in view.sources:
        reasons += [f"topic {source}: {reason}" for reason in results[TOPIC + source].refusals]
    answers = {answer.name: answer for answer in mine.answers}
    total = answers.get(CONTROL_TOTAL)
    counts = built.counts
    if total and total.observed:
        counts = replace(counts, used=int(total.observed))
    return replace(
        built,
        ledger_ok=counts.ok and bool(total and total.success),
        counts=replace(counts, failures=tuple(reasons)),
        passed=not reasons,
        at=now,
        seconds=built.seconds + mine.seconds,
    )
