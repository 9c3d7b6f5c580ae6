"""The gate's questions about a build: made from the view's own checks, the ledger and what was built before. Pure.

A question is an aggregate over the candidate's rows, and what it must give. Great Expectations asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal

from core.checks import AnyCheck, Check, Severity, Total
from core.event_columns import ERROR
from core.topic import EVENT_TIME, Json, Topic
from core.view import ROWS, Keyed, Rollup, View

CONTROL_TOTAL = "control_total"
DEFAULTS = (CONTROL_TOTAL, "complete", "written", "well_formed", "unique_keys", "not_empty", "not_fewer_rows")
BROKEN = "records"  # of a topic's frame, one row per text of ERROR: how many records have it
FRAME = "gate__"  # and the view's name: the temporary view under which SQL finds another view of the build


@dataclass(frozen=True)
class GateCheck:
    """``sql`` over a frame must give ``wanted`` (else what ``wanted_sql`` gives), or at least that; as text.

    Where it counts what is wrong, ``broken`` is the predicate of such rows, or ``keys`` are columns that no two rows
    may share: then it has no ``sql``. ``about`` says it in words.
    """

    check: str
    about: str
    sql: str = ""
    wanted: str | None = "0"
    wanted_sql: str = ""
    how: Literal["equal", "at_least"] = "equal"
    severity: Severity = "critical"
    broken: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildFacts:
    """What is known of a view's build apart from its rows: counted record by record, or when it was written.

    ``expected`` are the view rows that the events give (of a keyed view the events that it is made of, which ``used``
    counts again), ``good`` the decoded records per source, ``before`` the rows of an earlier build that had no more.
    """

    written: int
    expected: int
    used: int | None
    good: Mapping[str, int]
    problems: tuple[str, ...]
    before: int | None
    claimed_at: datetime


@dataclass(frozen=True)
class CheckAnswer:
    """What a question gave: ``crash`` says why it could not be asked, and is empty where it could."""

    check: str
    success: bool
    found: str | None = None
    wanted: str | None = None
    crash: str = ""


def view_suite(view: View, ledger: BuildFacts, views: Iterable[str]) -> tuple[GateCheck, ...]:
    """Every question about one view of a build that has these ``views``: those of all views, then its own."""
    known = set(views)
    own = [check for check in view.checks if not isinstance(check, Total) or check.other in known]
    kind = _keyed(view, ledger) if isinstance(view, Keyed) else _rollup(view, ledger)
    return (*_any_view(view, ledger), *kind, *(_own(check, ledger.claimed_at) for check in own))


def topic_suite(topic: Topic, records: int, quarantined: int) -> tuple[GateCheck, ...]:
    """Every question about a topic's archive up to the cut: its ledger, and broken records per rule, as warnings."""
    counted = f"coalesce(sum({BROKEN}), 0)"
    bad = f"coalesce(sum({BROKEN}) filter (where {ERROR} is not null), 0)"
    return (
        GateCheck(CONTROL_TOTAL, "records that the ledger counted", counted, str(records)),
        GateCheck("quarantined", "records that the ledger counted as broken", bad, str(quarantined)),
        _known(topic),
        *(_rule(name) for name in rule_names(topic)),
    )


def rule_names(topic: Topic) -> tuple[str, ...]:
    """Every rule that a record of the topic can break, in the order in which the decoder asks."""
    names = [*([] if topic.changelog else ["null_value"]), "too_long", "bad_utf8"]
    names += ["null_key"] if topic.key is not None else []
    names += ["bad_utf8_key"] if topic.changelog else []
    names += ["not_json", "unknown_version"] if isinstance(topic.format, Json) else ["no_match"]
    names += [f"field_{name}" for name in dict.fromkeys([*(field.name for field in topic.fields), EVENT_TIME])]
    return (*names, *(f"rule_{rule.name}" for rule in topic.rules))


def holds(how: str, found: str | None, wanted: str | None) -> bool:
    """Whether what was found is what is wanted; numbers are compared exactly, whatever their scale."""
    if how == "equal":
        return found == wanted or (found is not None and wanted is not None and _number(found) == _number(wanted))
    return found is not None and wanted is not None and Decimal(found) >= Decimal(wanted)


def refusals(suite: Sequence[GateCheck], answers: Sequence[CheckAnswer]) -> tuple[str, ...]:
    """Why a suite refuses; none when it passed. It fails closed: what was not answered did not pass."""
    if not suite:
        return ("there is no check",)
    if CONTROL_TOTAL not in {question.check for question in suite}:
        return ("there is no control total",)
    found = {answer.check: answer for answer in answers}
    reasons = [_refusal(question, found.get(question.check)) for question in suite]
    return tuple(reason for reason in reasons if reason)


def _refusal(question: GateCheck, answer: CheckAnswer | None) -> str:
    if answer is None:
        return f"{question.check}: it gave no result"
    if answer.crash:
        return f"{question.check} ({question.severity}): it cannot be evaluated: {answer.crash}"
    if answer.success or question.severity == "warning":
        return ""
    least = "at least " if question.how == "at_least" else ""
    return f"{question.check}: {question.about}: {answer.found}, wanted {least}{answer.wanted}"


def _any_view(view: View, ledger: BuildFacts) -> tuple[GateCheck, ...]:
    problems = "; ".join(ledger.problems)
    empty = view.allow_empty or _silent(view, ledger.good)
    return (
        GateCheck(
            "complete",
            f"partitions that have offsets without a record: {problems}" if problems else "every offset has a record",
            str(len(ledger.problems)),
        ),
        GateCheck("written", "rows that the build has written", "count(1)", str(ledger.written)),
        GateCheck("not_empty", "rows", "count(1)", "0" if empty else "1", how="at_least"),
    )


def _rollup(view: Rollup, ledger: BuildFacts) -> tuple[GateCheck, ...]:
    events = "events, counted record by record, that the rows add up to"
    found = [
        GateCheck(CONTROL_TOTAL, events, f"coalesce(sum({ROWS}), 0)", str(ledger.expected)),
        _rows("well_formed", f"{ROWS} > 0"),
        GateCheck("unique_keys", "keys that come more than once", keys=tuple(c.name for c in view.key_columns)),
    ]
    if ledger.before is not None:
        about = "rows, as the build before had, of the same definition"
        found.append(GateCheck("not_fewer_rows", about, "count(1)", str(ledger.before), how="at_least"))
    return tuple(found)


def _keyed(view: Keyed, ledger: BuildFacts) -> tuple[GateCheck, ...]:
    """Rows may be equal, and may become fewer as events come; each is counted once and belongs to a key."""
    has_key = " and ".join(f"`{key.name}` is not null" for key in view.keys)
    events = "events, counted record by record, that the query had"
    return (
        GateCheck(CONTROL_TOTAL, events, str(ledger.used), str(ledger.expected)),
        _rows("well_formed", f"{ROWS} = 1 and {has_key}"),
    )


def _silent(view: View, good: Mapping[str, int]) -> bool:
    """Whether the log has no good record for the view; a join may need one of each source."""
    none = [good.get(source, 0) == 0 for source in view.sources]
    return any(none) if isinstance(view, Keyed) else all(none)


def _own(check: AnyCheck, claimed_at: datetime) -> GateCheck:
    if isinstance(check, Check):
        return _rows(check.name, check.sql, check.severity)
    if isinstance(check, Total):
        about = f"{check.sql}, as {check.other_sql} of {check.other}"
        other = f"(select cast({check.other_sql} as string) from {FRAME}{check.other})"  # noqa: S608 - a Name
        return GateCheck(check.name, about, check.sql, None, other, severity=check.severity)
    least = int(claimed_at.timestamp() * 1000) - check.within
    about = f"{check.sql} in epoch milliseconds, at most {check.within} ms before the claim"
    sql = f"unix_millis(cast({check.sql} as timestamp))"
    return GateCheck(check.name, about, sql, str(least), how="at_least", severity=check.severity)


def _rows(name: str, sql: str, severity: Severity = "critical") -> GateCheck:
    """Rows for which a predicate is not true; null is not."""
    broken = f"not coalesce(cast(({sql}) as boolean), false)"
    return GateCheck(name, f"rows without: {sql}", f"count_if({broken})", severity=severity, broken=broken)


def _known(topic: Topic) -> GateCheck:
    names = ", ".join(f"'{name}'" for name in rule_names(topic))
    broken = f"size(array_except(split({ERROR}, ','), array({names}))) > 0"
    sql = f"coalesce(sum({BROKEN}) filter (where {broken}), 0)"
    return GateCheck("known_rules", "records that break a rule which is none of the topic's", sql, broken=broken)


def _rule(name: str) -> GateCheck:
    """A warning: records that break a rule are in quarantine. All rules that a record breaks are in one text."""
    broken = f"array_contains(split({ERROR}, ','), '{name}')"
    sql = f"coalesce(sum({BROKEN}) filter (where {broken}), 0)"
    return GateCheck(name, f"records that break {name}", sql, severity="warning", broken=broken)


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text
