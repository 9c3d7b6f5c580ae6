"""When each part of a correction ended, from the times in the control tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from infra.control import check_results, comparisons, epoch_times
from infra.control.builds import build_times
from infra.control.claims import Claim, read_claims
from infra.control.manifest import read_epochs
from infra.control.publications import last_done
from infra.control.runs import Run
from infra.settings import Settings


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

    start: the command and the replay's process. compute: reading and computing the log, up to the last big epoch.
    catch-up: until the cut of the proof. proof: landing, building, comparing.
    """
    claim = _claim(settings, at)
    epochs = read_epochs(settings, run.id, last=claim.epoch)
    last_of_backlog = epoch_times.backlog(epochs)[-1]
    compared = max(view.at for view in comparisons.latest_by_view(settings, run.id).values())
    ends = [
        ("start", epoch_times.began(epochs)),
        ("compute", last_of_backlog.committed_at.timestamp()),
        ("catch-up", claim.at.timestamp()),
        ("proof", compared.timestamp()),
    ]
    return _seconds(at, ends)


def _claim(settings: Settings, at: datetime) -> Claim:
    """The first claim after a time."""
    return next(claim for claim in read_claims(settings) if claim.at >= at)


def _seconds(at: datetime, ends: Sequence[tuple[str, float]]) -> Mapping[str, float]:
    """The seconds of each part, from the end of the one before."""
    moments = [("", at.timestamp()), *ends]
    return {part: end - before for (_, before), (part, end) in pairwise(moments)}
