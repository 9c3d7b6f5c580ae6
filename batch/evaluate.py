"""Evaluates a build: runs a suite of data-quality checks for each view and topic, and writes the results."""

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
    NO_RESULT,
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
from infra.control.builds import Built, add_built, passed_builds
from infra.control.check_results import TOPIC, CheckResult
from infra.control.claims import Claim
from infra.lake import parquet_scan, table_paths
from infra.lake.archive import rows_below
from infra.library_errors import first_line
from infra.progress_bar import bar
from infra.settings import Settings
from infra.spark.session import driver_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from infra.lake.leases import Lease
    from infra.quality.expectations import SuiteRun

_FIRST = 5  # rows that break a check are listed up to here; all are counted


@dataclass(frozen=True)
class _SuiteResult:
    """The outcomes of a suite's checks, and how many seconds they took."""

    suite: SuiteRun
    outcomes: tuple[CheckOutcome, ...]
    seconds: float

    @property
    def refusals(self) -> tuple[str, ...]:
        return refusals(self.suite.checks, self.outcomes)


def evaluate(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, built: Sequence[Built], lease: Lease
) -> None:
    """Checks the views of a build that were not checked yet, and their topics.

    Writes all results in one commit, then which views passed.
    """
    from infra.quality import expectations

    paths: dict[str, str] = {b.view: table_paths.batch(settings, b.view, b.build) for b in built}
    frames = {view: parquet_scan.read_table(spark, path) for view, path in paths.items()}
    pending = [view_built for view_built in built if view_built.passed is None]
    suites = _topic_suites(spark, settings, catalog, claim, pending)
    for view_built in pending:
        view = catalog.views[view_built.view]
        checks = view_suite(view, _build_facts(settings, view, view_built, claim), claim.views)
        suites.append(expectations.SuiteRun(view_built.view, frames[view_built.view], checks))
    suite_results = []
    with (
        bar("checking", len(suites), "") as show_progress,
        expectations.open_context(frames, settings.log_dir / "gate.log") as context,
    ):
        for suite in suites:
            lease.check()
            suite_results.append(_run_suite(context, suite))
            show_progress(len(suite_results))
        _require_spark(spark, settings)
    now = datetime.now(UTC)
    rows = [row for result in suite_results for row in _rows(catalog, claim, result, now)]
    by_suite = {result.suite.name: result for result in suite_results}
    faults.at("batch.3_in_gate")
    check_results.add_results(settings, lease, rows)
    faults.at("batch.3_before_passed")
    verdicts = [_verdict(catalog.views[view_built.view], view_built, by_suite, now) for view_built in pending]
    add_built(settings, lease, *verdicts)


def _topic_suites(
    spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim, pending: Sequence[Built]
) -> list[SuiteRun]:
    """A suite for each topic: how many records of its archive up to the cut break which rules."""
    from infra.quality.expectations import SuiteRun

    suites = []
    sources = catalog.sources(view_built.view for view_built in pending)
    for name, archive in archives(settings, catalog, claim, sources).items():
        reader = next(view_built for view_built in pending if name in catalog.views[view_built.view].sources)
        counts = reader.counts.of_topic(name)
        frame = rows_below(spark, archive, claim.cut).groupBy(ERROR).agg(fn.count(fn.lit(1)).alias(BROKEN))
        suites.append(
            SuiteRun(TOPIC + name, frame, topic_suite(catalog.topic(name), counts.records, counts.quarantined))
        )
    return suites


def _build_facts(settings: Settings, view: View, built: Built, claim: Claim) -> BuildFacts:
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
    """The row count of the last other build of this definition that passed and whose cut is not later."""
    row_counts = [
        other_build.rows
        for other_build in passed_builds(settings, built.view, built.digest)
        if other_build.build != built.build and other_build.cut.only(view.sources) <= built.cut
    ]
    return row_counts[-1] if row_counts else None


def _run_suite(context: Any, suite: SuiteRun) -> _SuiteResult:
    from infra.quality.expectations import evaluate_suite

    began = time.monotonic()
    try:
        outcomes = evaluate_suite(suite, context)
    except Exception as e:  # whatever it is: a check that could not run did not pass
        outcomes = [CheckOutcome(check.name, success=False, crash=first_line(str(e))) for check in suite.checks]
    return _SuiteResult(suite, tuple(outcomes), time.monotonic() - began)


def _require_spark(spark: SparkSession, settings: Settings) -> None:
    """Raises TryAgain when Spark has ended: then a failed check says nothing about the build."""
    try:
        spark.range(1).count()
    except Exception:  # py4j raises several kinds for a JVM that has ended
        log = str(driver_log(settings, "batch"))
        raise TryAgain("Spark ended while the gate ran checks", where=log, fix="run the command again") from None


def _rows(catalog: Catalog, claim: Claim, result: _SuiteResult, now: datetime) -> list[CheckResult]:
    outcomes = {outcome.name: outcome for outcome in result.outcomes}
    missing = CheckOutcome("", success=False, crash=NO_RESULT)
    return [
        _row(catalog, claim, result, check, outcomes.get(check.name, missing), now) for check in result.suite.checks
    ]


def _row(
    catalog: Catalog, claim: Claim, result: _SuiteResult, check: GateCheck, outcome: CheckOutcome, now: datetime
) -> CheckResult:
    counts = (check.broken or check.keys) and outcome.observed is not None
    return CheckResult(
        build=claim.build,
        view=result.suite.name,
        check=check.name,
        severity=check.severity,
        success=outcome.success,
        unexpected=int(str(outcome.observed)) if counts else None,
        observed=outcome.observed,
        expected=outcome.expected,
        exception=outcome.crash or None,
        first=json.dumps([] if outcome.success or outcome.crash else _examples(catalog, result.suite, check)),
        detail=check.description,
        at=now,
        seconds=result.seconds,
        comparison=check.comparison,
    )


def _examples(catalog: Catalog, suite: SuiteRun, check: GateCheck) -> list[Any]:
    """The keys of some rows of a view that break a check; records that break a rule are in quarantine."""
    from infra.quality.expectations import repeated_keys

    if suite.name.startswith(TOPIC) or not (check.broken or check.keys):
        return []
    keys = [column.name for column in catalog.view(suite.name).identifying_columns]
    wrong = repeated_keys(suite.frame, keys) if check.keys else suite.frame.where(check.broken)
    text = fn.to_json(fn.struct(*keys)).alias("text")
    try:
        return [json.loads(row["text"]) for row in wrong.select(text).limit(_FIRST).collect()]
    except PySparkException:
        return []  # the rows are counted already; examples are optional


def _verdict(view: View, built: Built, results: Mapping[str, _SuiteResult], now: datetime) -> Built:
    """The row of a checked view: it passed if its own suite and those of its topics did."""
    suite_result = results[built.view]
    reasons = list(suite_result.refusals)
    for source in view.sources:
        reasons += [f"topic {source}: {reason}" for reason in results[TOPIC + source].refusals]
    outcomes = {outcome.name: outcome for outcome in suite_result.outcomes}
    total = outcomes.get(CONTROL_TOTAL)
    counts = built.counts
    if total and total.observed:
        counts = replace(counts, used=int(total.observed))
    return replace(
        built,
        ledger_ok=counts.ok and bool(total and total.success),
        counts=replace(counts, failures=tuple(reasons)),
        passed=not reasons,
        at=now,
        seconds=built.seconds + suite_result.seconds,
    )
