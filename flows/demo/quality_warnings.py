"""The data-quality checks of severity "warning" that failed: a gate reports them and publishes nevertheless."""

from __future__ import annotations

from dataclasses import dataclass

from core.identifiers import Name
from infra.control import check_results
from infra.control.claims import read_claims
from infra.settings import Settings


@dataclass(frozen=True)
class QualityWarning:
    """A failed warning of one build: the view (or ``topic:<name>``), the check, and the rows that break it.

    ``rows`` is None where the check counts no rows; ``detail`` says what it counts.
    """

    build: Name
    view: str
    check: str
    rows: int | None
    detail: str


def failed_warnings(settings: Settings) -> tuple[QualityWarning, ...]:
    """The failed warnings of every build of the instance, oldest build first."""
    builds = [claim.build for claim in read_claims(settings)]
    results = [result for build in builds for result in check_results.of_build(settings, build)]
    return tuple(
        QualityWarning(result.build, result.view, result.check, result.unexpected, result.detail)
        for result in results
        if result.severity == "warning" and not result.success
    )
