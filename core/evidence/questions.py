"""The questions that an architect asks about the two modes. The study answers them, the report shows the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.evidence.measurement import MODES

Better = Literal["lower", "higher", ""]
GROUPS = ("correctness", "freshness", "reprocessing", "resources", "operations", "people")


@dataclass(frozen=True)
class Question:
    """A question: ``id`` names it in commands and files, ``how`` says how it is measured.

    ``section`` is the part of the study that answers it: ``lk study SECTION`` measures it again. ``axis`` names ``x``
    of its measurements, if they have one. ``better`` is the better direction, "" if neither is. ``modes`` are those
    that it is about.
    """

    id: str
    group: str
    section: str
    text: str
    unit: str
    how: str
    axis: str = ""
    better: Better = "lower"
    modes: tuple[str, ...] = MODES


QUESTIONS = (
    Question(
        "records-lost",
        "correctness",
        "correctness",
        "How many records were lost?",
        "records",
        "Valid records that were sent, minus the events that the served views count, after everything was read.",
    ),
    Question(
        "records-twice",
        "correctness",
        "correctness",
        "How many records were counted twice?",
        "records",
        "Events that the served views count, minus the valid records that were sent, after everything was read.",
    ),
    Question(
        "right-answers",
        "correctness",
        "correction",
        "Which share of the answers during a change is the truth of one moment?",
        "share",
        "Readers query the number of trades ten times a second. An answer is right if an epoch ends at its count.",
        better="higher",
    ),
    Question(
        "settling",
        "correctness",
        "settling",
        "How much of the final answer does a window show, by its age?",
        "share",
        "Readers query the windows of trade_stats while events flow. The count of all windows of an age, divided by "
        "their count when everything had arrived.",
        axis="seconds after the end of the window",
        better="higher",
    ),
    Question(
        "settled-after",
        "correctness",
        "settling",
        "After how long is a share of the windows final?",
        "s",
        "Of each window: the time from its end until an answer has its final count.",
        axis="percent of the windows",
    ),
    Question(
        "late-counted",
        "correctness",
        "settling",
        "Which share of late events is counted, by lateness?",
        "share",
        "Late events are sent with known times. Each window's count is compared with plain Python at the end.",
        axis="lateness of up to seconds",
        better="higher",
    ),
    Question(
        "replay-cells",
        "correctness",
        "correction",
        "How many cells of a replay differ from a full build at the same offsets?",
        "cells",
        "`lk switch kappa` compares every view, cell by cell, before it serves the replay.",
        modes=("kappa",),
    ),
    Question(
        "mode-cells",
        "correctness",
        "correctness",
        "How many cells of what is served differ from a full build at the same offsets?",
        "cells",
        "`lk compare --served`, after everything was read.",
    ),
    Question(
        "freshness",
        "freshness",
        "freshness",
        "How long from sending an event until a query counts it?",
        "s",
        "Every event is a sample. One reader queries all the time; the time of its query is included.",
        axis="percentile",
    ),
    Question(
        "query-time",
        "freshness",
        "queries",
        "How long does a query take?",
        "s",
        "Windows of one ticker in five minutes, while events flow: partial rows alone, the build alone, merged.",
        axis="percentile",
    ),
    Question(
        "sustained-rate",
        "freshness",
        "overload",
        "Which rate does the speed layer sustain?",
        "records/s",
        "Records of the epochs that read a backlog, divided by their time.",
        better="higher",
    ),
    Question(
        "lag",
        "freshness",
        "overload",
        "What happens above that rate?",
        "records",
        "Records that wait while a producer sends as fast as it can, and after.",
        axis="seconds since the overload began",
    ),
    Question(
        "catch-up",
        "freshness",
        "overload",
        "How long until the lag is zero again after an overload?",
        "s",
        "From the last record of the overload until an epoch ends at the end of the log.",
    ),
    Question(
        "staleness",
        "freshness",
        "queries",
        "How old is the batch layer's answer just before the next batch replaces it?",
        "s",
        "From the cut of a batch to the publication of the next, when one batch follows another without a pause.",
        modes=("lambda",),
    ),
    Question(
        "correction",
        "reprocessing",
        "correction",
        "How long from a changed rule until corrected history is served?",
        "s",
        "The rule of volume_by_day is edited in its file; then the one command of the mode runs. The parts add up. "
        "A replay reads and computes in one pass. Kappa has no shorter way for one day than the whole history.",
    ),
    Question(
        "reader-pause",
        "reprocessing",
        "correction",
        "How long do readers wait at most for an answer during a change?",
        "s",
        "The longest time between two answers, while readers query ten times a second.",
    ),
    Question(
        "answers",
        "reprocessing",
        "correction",
        "What do readers see across a change?",
        "s",
        "One row for each answer: when it arrived, how long it took, which mode answered.",
        axis="seconds since the change",
    ),
    Question(
        "rollback",
        "reprocessing",
        "correction",
        "How long does it take to go back?",
        "s",
        "`lk rollback`, with the start of its process; the next query must see what served before.",
    ),
    Question(
        "freshness-back",
        "reprocessing",
        "correction",
        "How fresh are answers after going back?",
        "s",
        "The same measure as freshness, right after the rollback.",
        axis="percentile",
    ),
    Question(
        "replayable-history",
        "reprocessing",
        "correction",
        "How much history can be replayed before retention removes its oldest records?",
        "share of the retention",
        "1 minus the time until a replay's first epoch is committed, divided by a retention of a day.",
        better="higher",
        modes=("kappa",),
    ),
    Question(
        "cpu",
        "resources",
        "resources",
        "How many CPU seconds do a million events cost?",
        "s per million",
        "User and system time of a process and its children, divided by the events that it read.",
    ),
    Question(
        "cpu-live",
        "resources",
        "freshness",
        "How many cores does the speed layer use while little arrives?",
        "cores",
        "User and system time of the speed process a second, while 1,000 events arrive a second.",
    ),
    Question(
        "written",
        "resources",
        "resources",
        "How many bytes does a million events write?",
        "MB per million",
        "Bytes that a process and its children wrote, divided by the events that it read.",
    ),
    Question(
        "memory",
        "resources",
        "resources",
        "How much memory is needed at most?",
        "GiB",
        "All processes of the instance together (PSS), five samples a second.",
    ),
    Question(
        "disk",
        "resources",
        "resources",
        "How much disk is used, with the log?",
        "MB",
        "Bytes of the files of each part: when nothing runs, and at the highest during a correction.",
    ),
    Question(
        "rate",
        "resources",
        "resources",
        "How fast is history read again?",
        "records/s",
        "Records of a full build, or of a replay, divided by the time of reading and computing.",
        better="higher",
    ),
    Question(
        "join-rate",
        "resources",
        "join",
        "How fast is the history of a join read again?",
        "records/s",
        "The same for orders and payments: a full build of their join alone, or a replay of it alone.",
        better="higher",
    ),
    Question(
        "deployment",
        "operations",
        "resources",
        "How long from a log with a history until the mode serves it?",
        "s",
        "After the first run has read it. Lambda: claim, land, build, gate, publish. Kappa: a replay and its proof.",
    ),
    Question(
        "recovery",
        "operations",
        "recovery",
        "How long until everything is read again after a crash?",
        "s",
        "SIGKILL at each step under load, then the command that recovers; until an epoch ends at the end of the log.",
    ),
    Question(
        "parts",
        "operations",
        "operations",
        "How many parts does the mode have?",
        "count",
        "Processes that run, jobs to schedule, topics, tables that a query reads.",
    ),
    Question(
        "steps",
        "operations",
        "operations",
        "How many commands does a person run?",
        "commands",
        "To deploy, to correct history, to go back. The study runs exactly these.",
    ),
    Question(
        "alert",
        "operations",
        "recovery",
        "How long until an alert fires?",
        "s",
        "From the fault until `lk status` reports it, asked again and again.",
    ),
    Question(
        "rule-lines",
        "people",
        "operations",
        "How many lines state a rule?",
        "lines",
        "Lines of the file of volume_by_day, without its example and empty lines.",
    ),
    Question(
        "rule-files",
        "people",
        "operations",
        "How many files does a changed rule touch?",
        "files",
        "Files that the study edits to change the rule.",
    ),
)

BY_ID = {question.id: question for question in QUESTIONS}
