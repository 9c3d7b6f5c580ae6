"""The gate runs the data-quality checks on a build before it may be published. A check that cannot run fails."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from batch import evaluate
from core.catalog import Catalog
from core.errors import SERVED_STAYS, Refused, TryAgain
from core.identifiers import Name
from core.validation.definition_change import require_same_definitions
from infra.control import check_results, locks
from infra.control.builds import Built
from infra.control.check_results import CheckResult
from infra.control.claims import Claim, builds_of
from infra.lake import table_paths
from infra.quality import data_docs, data_docs_paths
from infra.settings import Settings
from infra.trino import metastore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class GateResult:
    """The gate's results for a build; ``refused`` has the reasons by view, ``docs`` is the first of the Data Docs."""

    build: Name
    passed: bool
    refused: Mapping[Name, tuple[str, ...]]
    checks: tuple[CheckResult, ...]
    docs: Path
    seconds: float


def gate(spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim) -> GateResult:
    """Checks every view of a claim's build that was not checked yet, and returns the results of all of them.

    Raises Refused when a view was not built.
    """
    began = time.monotonic()
    require_same_definitions(catalog, claim.views, created="the build was claimed", where=f"build {claim.build}")
    with locks.hold(settings, "batch") as lease:
        built = _built(settings, claim)
        if any(view_built.passed is None for view_built in built):
            evaluate.evaluate(spark, settings, catalog, claim, built, lease)
    _register_results(settings)
    result = replace(result_of(settings, claim), seconds=time.monotonic() - began)
    write_docs(result)
    return result


def write_docs(result: GateResult) -> None:
    """Writes the Data Docs of a build from its stored results."""
    data_docs.write_pages(result.docs, result.build, result.checks, result.refused)


def result_of(settings: Settings, claim: Claim) -> GateResult:
    """The stored results of a build. Raises Refused when a view was not built."""
    built = _built(settings, claim)
    refused = {
        view_built.view: view_built.counts.failures or ("not checked yet",)
        for view_built in built
        if not view_built.passed
    }
    checks = tuple(check_results.of_build(settings, claim.build))
    return GateResult(claim.build, not refused, refused, checks, data_docs_paths.index_of(settings, claim.build), 0.0)


def is_evaluated(settings: Settings, claim: Claim) -> bool:
    """Whether every view of a claim's build was checked."""
    return all(view_built.passed is not None for view_built in _built(settings, claim))


def require_passed(gated: GateResult) -> GateResult:
    """Returns the result if it passed. Raises Refused, which names every critical check that failed."""
    if not gated.passed:
        lines = [f"{view}: {reason}" for view, reasons in gated.refused.items() for reason in reasons]
        raise Refused(
            "the gate refuses the build:\n  " + "\n  ".join(lines),
            where=f"build {gated.build}, control.quality, {gated.docs}",
            fix="correct the data or the checks, then run `lk batch` again (docs/runbooks/gate-refused.md)"
            f"; {SERVED_STAYS}",
        )
    return gated


def _built(settings: Settings, claim: Claim) -> list[Built]:
    by_view = builds_of(settings, claim)
    missing = [view for view in claim.views if view not in by_view]
    if missing:
        raise Refused(
            f"views were not built: {', '.join(missing)}",
            where=f"build {claim.build}, control.builds",
            fix=f"run `lk build --build {claim.build}` first",
        )
    return [by_view[view] for view in claim.views]


def _register_results(settings: Settings) -> None:
    """Registers the results as a table in Trino; without Trino, publishing does it."""
    path = check_results.TABLE.path(settings)
    try:
        metastore.register(settings, "control", "quality", table_paths.relative(settings, path))
    except TryAgain:
        return
