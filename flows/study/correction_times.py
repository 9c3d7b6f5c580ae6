"""When each part of a correction ended, from the times in the control tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from core.identifiers import Name
from infra.control import check_results, comparisons
from infra.control.builds import build_times
from infra.control.claims import Claim, read_claims
from infra.control.manifest import read_epochs
from infra.control.runs import Run
from infra.settings import Settings
from serving.recover import last_done


def lambda_times(settings: Settings, run: Run, at: datetime) -> Mapping[str, float]:
    """Seconds of the parts of `lk speed start --new` that began ``at``: a build, and a new run from its cut.

    start: the command's process. read: landing what the archive lacked, and Spark's start. compute: the build. proof:
    the gate. catch-up: the new run, until it is published.
    """
    claim = _claim(settings, at)
    began, ended = build_times(settings, claim.build)
    gated = max(result.at for result in check_results.of_build(settings, claim.build))
    last = last_done(settings)
    assert last is not None, "the correction was published"
    ends = [
        ("start", claim.at.timestamp()),
        ("read", began.timestamp()),
        ("compute", ended.timestamp()),
        ("proof", max(gated, run.created_at).timestamp()),
        ("catch-up", last.at.timestamp()),
    ]
    return _seconds(at, ends)


def kappa_times(settings: Settings, run: Run, at: datetime) -> Mapping[str, float]:
    """Seconds of the parts of `lk switch kappa` that began ``at``: a replay, and its proof.

    start: the command and the replay's process. compute: reading and computing the log up to its end when the replay
    was declared. catch-up: until the cut of the proof. proof: landing, building, comparing.
    """
    claim = _claim(settings, at)
    epochs = read_epochs(settings, run.id)
    begun = epochs[0].batch_time_ms / 1_000
    declared = _ends_at(settings, run, claim)
    compared = max(view.at for view in comparisons.latest_by_view(settings, run.id).values())
    ends = [
        ("start", begun),
        ("compute", declared),
        ("catch-up", claim.at.timestamp()),
        ("proof", compared.timestamp()),
    ]
    return _seconds(at, ends)


def _ends_at(settings: Settings, run: Run, claim: Claim) -> float:
    """When the replay had read its backlog: the commit of its last big epoch, those of at least half the largest."""
    epochs = read_epochs(settings, run.id, last=claim.epoch)
    sizes = [epoch.end.size_since(epoch.start) for epoch in epochs]
    big = [epoch for epoch, size in zip(epochs, sizes, strict=True) if 2 * size >= max(sizes)]
    return big[-1].committed_at.timestamp()


def _claim(settings: Settings, at: datetime) -> Claim:
    """The first claim after a time."""
    return next(claim for claim in read_claims(settings) if claim.at >= at)


def _seconds(at: datetime, ends: Sequence[tuple[Name | str, float]]) -> Mapping[str, float]:
    """The seconds of each part, from the end of the one before."""
    moments = [("", at.timestamp()), *ends]
    return {str(part): end - before for (_, before), (part, end) in pairwise(moments)}
