"""The five cases for which an architect wants a recommendation, and what decides each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.evidence.coefficients import LIVE_RATE
from core.evidence.measurement import ONE_DAY, STEADY, WHOLE


@dataclass(frozen=True)
class PartRows:
    """Rows of one part, multiplied by ``factor``; of ``question``, or of the criterion's question if that is ""."""

    name: str
    question: str = ""
    factor: float = 1.0


@dataclass(frozen=True)
class ModeRows:
    """What one mode is judged by: these ``parts`` added up; without any, all parts but ``without``.

    ``given`` is a value that needs no measurement, with its reason in ``why``.
    """

    parts: tuple[PartRows, ...] = ()
    without: str = ""
    given: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Criterion:
    """Compares both modes by one number of each. ``what`` names it in a sentence.

    ``situation`` "" stands for any. ``x`` None stands for the largest that both modes have. ``rows`` are the rows of a
    mode; one that is not named there has those of all parts.
    """

    question: str
    what: str
    situation: str = ""
    view: str = ""
    x: float | None = None
    rows: Mapping[str, ModeRows] = field(default_factory=dict)

    def of(self, mode: str) -> ModeRows:
        """The rows of a mode."""
        return self.rows.get(mode, ModeRows())


@dataclass(frozen=True)
class Case:
    """``criteria`` are compared in this order; the first clear difference decides. ``why`` explains the order."""

    id: str
    title: str
    question: str
    criteria: tuple[Criterion, ...]
    why: str


def _rows(*parts: str) -> ModeRows:
    return ModeRows(tuple(map(PartRows, parts)))


_FRESH = "the 95th percentile of freshness"
_LIVE = PartRows("", "cpu-live", 1e6 / LIVE_RATE)  # cores while some events arrive a second -> seconds per million
_RUNNING = {"lambda": ModeRows((_LIVE, *_rows("land", "build", "gate").parts)), "kappa": ModeRows((_LIVE,))}
_CORRECTING = {"lambda": _rows("build", "gate"), "kappa": _rows("replay", "proof")}
_ARCHIVED = {"lambda": ModeRows(given=1.0, why="its archive holds what the log has lost")}
_INSTEAD_OF_THE_LOG = {"lambda": ModeRows(without="log")}

CASES = (
    Case(
        "append-only",
        "Append-only aggregates",
        "Which mode serves sums and counts of events that only arrive, under rules that stay?",
        (
            Criterion("freshness", _FRESH, STEADY, x=95),
            Criterion(
                "cpu",
                f"the CPU time of events at {LIVE_RATE:,} a second (in Lambda also landed, built and checked once)",
                rows=_RUNNING,
            ),
            Criterion("disk", "the disk used with the log while nothing runs", STEADY),
        ),
        "History is never computed again, so the order is that of every day: what readers notice, then CPU, then disk.",
    ),
    Case(
        "joins",
        "Joins",
        "Which mode serves a view that joins two topics?",
        (
            Criterion("freshness", f"{_FRESH} of order_payments", STEADY, "order_payments", 95),
            Criterion("join-rate", "the rate at which history is joined again", "", "order_payments"),
        ),
        "A join keeps its events, and computes a key again when one of its events arrives. If that is slower in one "
        "mode, its readers notice it, which decides; if not, the rate at which the history of the join is read again.",
    ),
    Case(
        "rules-change",
        "Rules that change often",
        "Which mode serves views whose rules change often, each time for the whole history?",
        (
            Criterion("correction", "the time from a changed rule until corrected history is served", WHOLE),
            Criterion("cpu", "the CPU time of computing events again, with the proof", rows=_CORRECTING),
        ),
        "Readers see wrong history until a correction is served, so its time decides; then its CPU time. The proof "
        "is a part of both: Lambda's gate, and in Kappa the comparison of a replay with a full build.",
    ),
    Case(
        "short-retention",
        "Long history with short retention",
        "Which mode corrects a history that is longer than the retention of the log?",
        (
            Criterion("replayable-history", "the share of the retention that can be computed again", rows=_ARCHIVED),
            Criterion(
                "disk",
                "the disk used for the whole history (in Kappa with a log that keeps it, in Lambda without the log)",
                STEADY,
                rows=_INSTEAD_OF_THE_LOG,
            ),
        ),
        "A log that keeps only its retention is enough for Lambda, whose archive has the history. Kappa needs a log "
        "that keeps the whole history. If a replay is fast enough to reach the oldest records, the disk decides.",
    ),
    Case(
        "late-corrections",
        "Late corrections",
        "Which mode serves data of which a day is corrected long after it was read?",
        (
            Criterion("late-counted", "the share of the latest events that is counted"),
            Criterion("correction", "the time until one corrected day is served", ONE_DAY),
        ),
        "A mode that lost late events would be out. If both count them, the time of correcting one day decides: Lambda "
        "computes a range of windows again, Kappa replays the log.",
    ),
)

BY_CASE = {case.id: case for case in CASES}
