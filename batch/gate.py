"""The gate: what must hold of a build before it may be published, asked of what was written. It fails closed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from batch import evaluate
from batch.build import require_same_views
from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra.control import check_results, locks
from infra.control.builds import Built, read_builds
from infra.control.check_results import CheckResult
from infra.control.claims import Claim
from infra.lake import table_paths
from infra.quality import data_docs
from infra.settings import Settings
from infra.trino import metastore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class GateResult:
    """What the gate found of a build; ``refused`` says why, view by view, and ``docs`` is the first of its pages."""

    build: Name
    passed: bool
    refused: Mapping[Name, tuple[str, ...]]
    checks: tuple[CheckResult, ...]
    docs: Path
    seconds: float


def gate(spark: SparkSession, settings: Settings, catalog: Catalog, claim: Claim) -> GateResult:
    """Judges every view of a claim's build that was not judged yet, and says what was found of all of them.

    Raises Refused when one was not built.
    """
    began = time.monotonic()
    require_same_views(catalog, claim)
    with locks.hold(settings, "batch") as lease:
        built = _built(settings, claim)
        if any(one.passed is None for one in built):
            evaluate.evaluate(spark, settings, catalog, claim, built, lease)
    _show(settings)
    result = replace(result_of(settings, claim), seconds=time.monotonic() - began)
    write_docs(result)
    return result


def write_docs(result: GateResult) -> None:
    """Writes the Data Docs of a build from its stored results."""
    data_docs.write_pages(result.docs, result.build, result.checks, result.refused)


def result_of(settings: Settings, claim: Claim) -> GateResult:
    """What the gate found of a build so far. Raises Refused when a view was not built."""
    built = _built(settings, claim)
    refused = {one.view: one.counts.failures or ("not judged yet",) for one in built if not one.passed}
    checks = tuple(check_results.of_build(settings, claim.build))
    return GateResult(claim.build, not refused, refused, checks, check_results.pages(settings, claim.build), 0.0)


def is_evaluated(settings: Settings, claim: Claim) -> bool:
    """Whether every view of a claim's build was judged."""
    return all(one.passed is not None for one in _built(settings, claim))


def require_passed(gated: GateResult) -> GateResult:
    """The same. Raises Refused, which names every critical check that failed, when it has not passed."""
    if not gated.passed:
        lines = [f"{view}: {reason}" for view, reasons in gated.refused.items() for reason in reasons]
        raise Refused(
            "the gate refuses the build:\n  " + "\n  ".join(lines),
            where=f"build {gated.build}, control.quality, {gated.docs}",
            fix="correct the data or the checks, then run `lk batch` again (docs/runbooks/gate-refused.md); "
            "what is served stays as it is",
        )
    return gated


def _built(settings: Settings, claim: Claim) -> list[Built]:
    known = {one.view: one for one in read_builds(settings) if one.build == claim.build}
    missing = [view for view in claim.views if view not in known]
    if missing:
        raise Refused(
            f"views were not built: {', '.join(missing)}",
            where=f"build {claim.build}, control.builds",
            fix=f"run `lk build --build {claim.build}` first",
        )
    return [known[view] for view in claim.views]


def _show(settings: Settings) -> None:
    """Trino shows what was found; where it is not there, publishing does it."""
    path = check_results.TABLE.path(settings)
    try:
        metastore.register(settings, "control", "quality", table_paths.relative(settings, path))
    except TryAgain:
        return
