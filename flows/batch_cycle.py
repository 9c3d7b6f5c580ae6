"""The batch cycle: claim a cut, land the log up to it, build every view, gate, publish. As a whole or by steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batch.claim import claim
from batch.gate import GateResult, is_evaluated, require_passed, result_of, write_docs
from batch.land import Landed
from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import remedies
from flows.lineage_steps import build, gate, gated, land, publish
from infra.control import check_results
from infra.control.builds import Built, passed_builds, read_builds
from infra.control.claims import Claim, claim_of, claim_or_last, read_claims
from infra.control.publications import Publication, last_done
from infra.settings import Settings
from infra.spark.session import temporary_session, with_more_tasks
from infra.spark.session_conf import short_lived
from serving.publish import in_kappa
from speed.process.epoch_pacing import with_priority

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FEW = 2_000_000  # records up to the cut: four views of so many are built in some ten seconds


@dataclass(frozen=True)
class BatchRun:
    """The result of one cycle, by step; ``publication`` is None while Kappa serves."""

    claim: Claim
    landed: tuple[Landed, ...]
    built: tuple[Built, ...]
    gated: GateResult
    publication: Publication | None

    @property
    def note(self) -> str:
        """Why nothing, or not every view, was published; empty if every view was."""
        if self.publication is None:
            return "not published, as Kappa serves; the build is kept, and `lk switch lambda` serves a build"
        kept = self.publication.evidence.get("kept")
        why = "not published, as the run that serves has other definitions"
        return f"{', '.join(kept)}: {why}; {remedies()}" if kept else ""


def run_batch(
    settings: Settings,
    catalog: Catalog,
    *,
    incremental: bool = False,
    to_lambda: bool = False,
    why: str = "lk batch",
) -> BatchRun:
    """Claims, lands, builds, gates and publishes; a failure in any step leaves what is served untouched.

    While Kappa serves, it publishes nothing, unless ``to_lambda``.
    """
    claimed = claim(settings, catalog)
    with batch_session(settings, claimed.cut) as spark:
        landed, gated = land_and_build(spark, settings, catalog, claimed, incremental=incremental)
    built = read_builds(settings, [claimed.build])
    if in_kappa(last_done(settings), catalog) and not to_lambda:
        return BatchRun(claimed, tuple(landed), tuple(built), gated, None)
    publication = publish(settings, catalog, claimed.build, why=why, kind="lambda" if to_lambda else "build")
    return BatchRun(claimed, tuple(landed), tuple(built), gated, publication)


def land_and_build(
    spark: SparkSession, settings: Settings, catalog: Catalog, claimed: Claim, *, incremental: bool = False
) -> tuple[list[Landed], GateResult]:
    """Lands the log up to the cut of a claim, builds every view of it and runs the gate; Refused if that refuses."""
    landed = land(spark, settings, catalog, claimed)
    build(spark, settings, catalog, claimed, incremental=incremental)
    return landed, require_passed(gate(spark, settings, catalog, claimed))


def current_build(settings: Settings, catalog: Catalog) -> Claim:
    """The claim of the last build that passed its gate with today's definition of every view, else of a new build.

    Publishes nothing.
    """
    passed = {(built.build, built.view): built.digest for built in passed_builds(settings)}
    for earlier in reversed(read_claims(settings)):
        if all(passed.get((earlier.build, view)) == catalog.digest(view) for view in catalog.reproducible):
            return earlier
    claimed = claim(settings, catalog)
    with batch_session(settings, claimed.cut) as spark:
        land_and_build(spark, settings, catalog, claimed)
    return claimed


def land_claim(settings: Settings, catalog: Catalog, name: str | None) -> tuple[Landed, ...]:
    """Lands the log up to the cut of a claim; None means the last claim."""
    claimed = claim_or_last(settings, name)
    with batch_session(settings, claimed.cut) as spark:
        return tuple(land(spark, settings, catalog, claimed))


def build_claim(
    settings: Settings, catalog: Catalog, name: str | None, *, incremental: bool = False
) -> tuple[Built, ...]:
    """Builds every view of a claim, without the gate; None means the last claim."""
    claimed = claim_or_last(settings, name)
    with batch_session(settings, claimed.cut) as spark:
        return tuple(build(spark, settings, catalog, claimed, incremental=incremental))


def gate_claim(settings: Settings, catalog: Catalog, name: str | None) -> GateResult:
    """Gates the build of a claim; None means the last claim. A build that was gated before needs no Spark."""
    claimed = claim_or_last(settings, name)
    if is_evaluated(settings, claimed):
        return _with_docs(gated(settings, catalog, claimed))
    with batch_session(settings, claimed.cut) as spark:
        return gate(spark, settings, catalog, claimed)


def quality(settings: Settings, name: str | None) -> GateResult:
    """The gate's result for a build; None means the last build that was gated."""
    build = name or check_results.last_checked_build(settings)
    if build is None:
        raise Refused("no build was gated yet", where="control.quality", fix="run `lk gate`, or `lk batch`")
    return _with_docs(result_of(settings, claim_of(settings, Name(build))))


def _with_docs(result: GateResult) -> GateResult:
    """The same result; writes its Data Docs if they are missing, as after a gate on another machine."""
    if not result.docs.is_file():
        write_docs(result)
    return result


def publish_claim(settings: Settings, catalog: Catalog, name: str | None, *, why: str) -> Publication:
    """Publishes the build of a claim; None means the last claim."""
    return publish(settings, catalog, claim_or_last(settings, name).build, why=why)


@contextlib.contextmanager
def batch_session(settings: Settings, cut: Cut) -> Iterator[SparkSession]:
    """The Spark session of batch work on the records below a cut, which has priority over runs."""
    with with_priority(settings, Name("batch")):
        conf = {"spark.master": with_more_tasks(settings.spark_master, 1)}
        with temporary_session(java_settings(settings, cut), "batch", conf) as spark:
            yield spark


def java_settings(settings: Settings, cut: Cut) -> Settings:
    """The settings with the options of a JVM that works on the records below a cut; options of the settings win."""
    return short_lived(settings) if cut.size <= _FEW else settings
