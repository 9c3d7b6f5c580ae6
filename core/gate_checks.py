"""The gate's checks of a build: those of every view and topic, and those that a view's file declares.

A check is an aggregate over the rows of a build and the value that it must have. Great Expectations evaluates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal

from core.checks import AnyCheck, Check, Severity, Total
from core.event_columns import DROPPED_COPY, ERROR
from core.record_keys import bad_key_rule
from core.sealed_topic import ERASED_RULE
from core.topic import EVENT_TIME, Json, Topic
from core.unix_time import epoch_millis
from core.view import ROWS, Keyed, Rollup, View

NO_RESULT = "it gave no result"
CONTROL_TOTAL = "control_total"
DEFAULTS = (CONTROL_TOTAL, "complete", "written", "well_formed", "unique_keys", "not_empty", "not_fewer_rows")
BROKEN = "records"  # column of a topic's frame, which has one row per value of ERROR: how many records have that value
FRAME = "gate__"  # followed by a view's name: the temporary view by which SQL reads another view of the build


@dataclass(frozen=True)
class GateCheck:
    """The aggregate ``sql`` over a frame must equal ``expected``, or be at least that; both as text.

    ``expected`` None takes the result of ``expected_sql``. A check that counts wrong rows has the predicate of such
    rows in ``broken``. A check with ``keys``, columns that no two rows may share, has no ``sql``.
    ``description`` says what the aggregate counts.
    """

    name: str
    description: str
    sql: str = ""
    expected: str | None = "0"
    expected_sql: str = ""
    comparison: Literal["equal", "at_least"] = "equal"
    severity: Severity = "critical"
    broken: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildFacts:
    """Facts about a view's build that are available without reading its rows.

    ``expected`` is the number of view rows that the events give, counted record by record; of a keyed view it is the
    number of events, which ``used`` counts a second time. ``good`` is decoded records per source. ``before`` is the
    number of rows of an earlier build whose cut was not ahead.
    """

    written: int
    expected: int
    used: int | None
    good: Mapping[str, int]
    problems: tuple[str, ...]
    before: int | None
    claimed_at: datetime


@dataclass(frozen=True)
class CheckOutcome:
    """The result of a check. ``crash`` says why it could not be evaluated; it is empty when it was."""

    name: str
    success: bool
    observed: str | None = None
    expected: str | None = None
    crash: str = ""


def view_suite(view: View, facts: BuildFacts, views: Iterable[str]) -> tuple[GateCheck, ...]:
    """Every check of one view of a build: those of all views, then its own. ``views`` are all views of the build."""
    names = set(views)
    own = [check for check in view.checks if not isinstance(check, Total) or check.other in names]
    of_kind = _keyed(view, facts) if isinstance(view, Keyed) else _rollup(view, facts)
    return (*_any_view(view, facts), *of_kind, *(_declared_check(check, facts.claimed_at) for check in own))


def topic_suite(topic: Topic, records: int, quarantined: int) -> tuple[GateCheck, ...]:
    """Every check of a topic's archive up to the cut: its record counts and, as warnings, broken records per rule."""
    all_records = f"coalesce(sum({BROKEN}), 0)"
    good_or_erased = f"coalesce(sum({BROKEN}) filter (where {ERROR} is null or {ERROR} = '{ERASED_RULE}'), 0)"
    least_good = records - topic.allowed_in_quarantine(records)
    bad_records = f"coalesce(sum({BROKEN}) filter (where {ERROR} is not null), 0)"
    return (
        GateCheck(CONTROL_TOTAL, "records that landing counted", all_records, str(records)),
        GateCheck("quarantined", "records that landing counted as broken", bad_records, str(quarantined)),
        GateCheck(
            "quarantined_share",
            f"records that can be decoded, or whose person was erased; {topic.most_quarantined:.2%} may be quarantined",
            good_or_erased,
            str(least_good),
            comparison="at_least",
            severity="warning",
        ),
        _known_rules(topic),
        *(_rule(name) for name in rule_names(topic) if name != ERASED_RULE),
    )


def rule_names(topic: Topic) -> tuple[str, ...]:
    """Every rule that a record of the topic can break, in the order of the decoder."""
    names = [DROPPED_COPY, *([] if topic.changelog else ["null_value"]), "too_long", "bad_utf8"]
    names += ["null_key"] if topic.key is not None else []
    names += [bad_key_rule(topic.key_encoding)] if topic.changelog else []
    names += ["not_json", "unknown_version"] if isinstance(topic.format, Json) else ["no_match"]
    names += [f"field_{name}" for name in dict.fromkeys([*(field.name for field in topic.fields), EVENT_TIME])]
    return (*names, *(f"rule_{rule.name}" for rule in topic.rules))


def holds(comparison: str, observed: str | None, expected: str | None) -> bool:
    """Whether an observed value satisfies a comparison; numbers are compared exactly, whatever their scale."""
    if comparison == "equal" and observed == expected:
        return True
    if observed is None or expected is None:
        return False
    return _number(observed) == _number(expected) if comparison == "equal" else Decimal(observed) >= Decimal(expected)


def refusals(suite: Sequence[GateCheck], outcomes: Sequence[CheckOutcome]) -> tuple[str, ...]:
    """Why a suite refuses a build; empty when it passed. It fails closed: a check without an outcome did not pass."""
    if not suite:
        return ("there is no check",)
    if CONTROL_TOTAL not in {check.name for check in suite}:
        return ("there is no control total",)
    by_name = {outcome.name: outcome for outcome in outcomes}
    reasons = [_refusal(check, by_name.get(check.name)) for check in suite]
    return tuple(reason for reason in reasons if reason)


def _refusal(check: GateCheck, outcome: CheckOutcome | None) -> str:
    if outcome is None:
        return f"{check.name}: {NO_RESULT}"
    if outcome.crash:
        return f"{check.name} ({check.severity}): it cannot be evaluated: {outcome.crash}"
    if outcome.success or check.severity == "warning":
        return ""
    least = "at least " if check.comparison == "at_least" else ""
    return f"{check.name}: {check.description}: {outcome.observed}, expected {least}{outcome.expected}"


def _any_view(view: View, facts: BuildFacts) -> tuple[GateCheck, ...]:
    problems = "; ".join(facts.problems)
    empty = view.allow_empty or _without_records(view, facts.good)
    return (
        GateCheck(
            "complete",
            f"partitions that have offsets without a record: {problems}" if problems else "every offset has a record",
            str(len(facts.problems)),
        ),
        GateCheck("written", "rows that the build wrote", "count(1)", str(facts.written)),
        GateCheck("not_empty", "rows", "count(1)", "0" if empty else "1", comparison="at_least"),
    )


def _rollup(view: Rollup, facts: BuildFacts) -> tuple[GateCheck, ...]:
    events = "events, counted record by record, that the rows add up to"
    checks = [
        GateCheck(CONTROL_TOTAL, events, f"coalesce(sum({ROWS}), 0)", str(facts.expected)),
        _rows("well_formed", f"{ROWS} > 0"),
        GateCheck("unique_keys", "keys that more than one row has", keys=tuple(c.name for c in view.key_columns)),
    ]
    if facts.before is not None:
        description = "rows, compared with an earlier build of the same definition"
        checks.append(GateCheck("not_fewer_rows", description, "count(1)", str(facts.before), comparison="at_least"))
    return tuple(checks)


def _keyed(view: Keyed, facts: BuildFacts) -> tuple[GateCheck, ...]:
    """Rows may be equal, and new events may make them fewer; each row has the count 1 and a key."""
    has_key = " and ".join(f"`{key.name}` is not null" for key in view.keys)
    events = "events, counted record by record, that the query read"
    return (
        GateCheck(CONTROL_TOTAL, events, str(facts.used), str(facts.expected)),
        _rows("well_formed", f"{ROWS} = 1 and {has_key}"),
    )


def _without_records(view: View, good: Mapping[str, int]) -> bool:
    """Whether the log has no good record for the view; a keyed view may join, so one empty source is enough."""
    empty = [good.get(source, 0) == 0 for source in view.sources]
    return any(empty) if isinstance(view, Keyed) else all(empty)


def _declared_check(check: AnyCheck, claimed_at: datetime) -> GateCheck:
    # The line ends after the SQL of a check, because that may end in a comment.
    if isinstance(check, Check):
        return _rows(check.name, check.sql, check.severity)
    if isinstance(check, Total):
        description = f"{check.sql}, compared with {check.other_sql} of {check.other}"
        other = f"(select cast({check.other_sql}\n as string) from {FRAME}{check.other})"  # noqa: S608 - a Name
        return GateCheck(check.name, description, check.sql, None, other, severity=check.severity)
    least = epoch_millis(claimed_at) - check.within
    description = f"{check.sql} in epoch milliseconds, at most {check.within} ms before the claim"
    sql = f"unix_millis(cast({check.sql}\n as timestamp))"
    return GateCheck(check.name, description, sql, str(least), comparison="at_least", severity=check.severity)


def _rows(name: str, sql: str, severity: Severity = "critical") -> GateCheck:
    """Counts the rows for which a predicate is false or null."""
    broken = f"not coalesce(cast(({sql}\n) as boolean), false)"
    return GateCheck(name, f"rows without: {sql}", f"count_if({broken})", severity=severity, broken=broken)


def _known_rules(topic: Topic) -> GateCheck:
    names = ", ".join(f"'{name}'" for name in rule_names(topic))
    broken = f"size(array_except(split({ERROR}, ','), array({names}))) > 0"
    sql = f"coalesce(sum({BROKEN}) filter (where {broken}), 0)"
    return GateCheck("known_rules", "records that break a rule that the topic does not have", sql, broken=broken)


def _rule(name: str) -> GateCheck:
    """A warning, because such records are in quarantine. ERROR lists all rules that a record breaks."""
    broken = f"array_contains(split({ERROR}, ','), '{name}')"
    sql = f"coalesce(sum({BROKEN}) filter (where {broken}), 0)"
    return GateCheck(name, f"records that break {name}", sql, severity="warning", broken=broken)


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text
