"""The five cases for which an architect wants a recommendation, and what decides each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rows:
    """Rows of a question that one mode is judged by: these ``parts`` added up; without any, all parts but ``without``.

    ``given`` is a value that needs no measurement, with its reason in ``why``.
    """

    parts: tuple[str, ...] = ()
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
    rows: Mapping[str, Rows] = field(default_factory=dict)

    def of(self, mode: str) -> Rows:
        """The rows of a mode."""
        return self.rows.get(mode, Rows())


@dataclass(frozen=True)
class Case:
    """``criteria`` are compared in this order; the first clear difference decides. ``why`` explains the order."""

    id: str
    title: str
    question: str
    criteria: tuple[Criterion, ...]
    why: str


_FRESH = "the 95th percentile of freshness"
_HISTORY, _DAY, _STEADY = "whole history", "one day", "steady"
_RUNNING = {"lambda": Rows(("live", "land", "build")), "kappa": Rows(("live",))}
_JOINING = {"lambda": Rows(("live", "build")), "kappa": Rows(("live",))}
_CORRECTING = {"lambda": Rows(("build",)), "kappa": Rows(("replay", "proof"))}
_READING = {"lambda": Rows(("build",)), "kappa": Rows(("replay",))}
_ARCHIVED = {"lambda": Rows(given=1.0, why="its archive holds what the log has lost")}
_INSTEAD_OF_THE_LOG = {"lambda": Rows(without="log")}

CASES = (
    Case(
        "append-only",
        "Append-only aggregates",
        "Which mode serves sums and counts of events that only arrive, under rules that stay?",
        (
            Criterion("freshness", _FRESH, _STEADY, x=95),
            Criterion("cpu", "the CPU time of an event (live; in Lambda also landed and built once)", rows=_RUNNING),
            Criterion("disk", "the disk used with the log while nothing runs", _STEADY),
        ),
        "History is never computed again, so the order is that of every day: what readers notice, then CPU, then disk.",
    ),
    Case(
        "joins",
        "Joins",
        "Which mode serves a view that joins two topics?",
        (
            Criterion("freshness", f"{_FRESH} of order_payments", _STEADY, "order_payments", 95),
            Criterion(
                "cpu",
                "the CPU time of a joined event (live; in Lambda also built once)",
                "",
                "order_payments",
                rows=_JOINING,
            ),
            Criterion("rate", "the rate at which history is joined again", "", "order_payments", rows=_READING),
        ),
        "A join keeps its events, and computes a key again when one arrives. A mode that is slower for it is slower "
        "for readers, which decides; then its CPU time; then how fast history is joined again.",
    ),
    Case(
        "rules-change",
        "Rules that change often",
        "Which mode serves views whose rules change often, each time for the whole history?",
        (
            Criterion("correction", "the time from a changed rule until corrected history is served", _HISTORY),
            Criterion("cpu", "the CPU time of computing an event again (in Kappa with the proof)", rows=_CORRECTING),
        ),
        "Readers see wrong history until a correction is served, so its time decides; then its CPU time. The proof "
        "is a part of Kappa's time: `lk switch kappa` compares a replay with a full build before it serves it.",
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
                _STEADY,
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
            Criterion("correction", "the time until one corrected day is served", _DAY),
        ),
        "A mode that lost late events would be out. If both count them, the time of correcting one day decides: Lambda "
        "computes a range of windows again, Kappa replays the log.",
    ),
)

BY_CASE = {case.id: case for case in CASES}
