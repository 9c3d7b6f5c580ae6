"""The gate's checks: the built-in ones, those of a view's file, and when a suite refuses a build."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.gate_checks import BuildFacts, CheckOutcome, GateCheck, holds, refusals, rule_names, topic_suite, view_suite
from core.measures import Count
from core.topic import Field, Json, Lines, Rule, Topic, Version
from core.view import Check, Fresh, Key, Keyed, Result, Rollup, Total, View

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FACTS = BuildFacts(written=4, expected=11, used=None, good={"a": 6, "b": 0}, problems=(), before=None, claimed_at=AT)
ROLLUP = Rollup("r", ("a", "b"), keys=(Key("k", "k"), Key("l", "l")), measures=(Count("n"),))
KEYED = Keyed("k", ("a", "b"), keys=(Key("k", "k"),), results=(Result("n", "bigint"),), query="{a} {b}")
TOPIC = Topic("a", Json((Version(1, ("x", "y")),)), (Field("x"), Field("y")), key="x", rules=(Rule("sane", "x <> y"),))
TOTAL = GateCheck("control_total", "", "count(1)")


def checks_of(view: View, facts: BuildFacts = FACTS) -> dict[str, GateCheck]:
    suite = view_suite(view, facts, ["r", "k"])
    assert len({check.name for check in suite}) == len(suite)
    return {check.name: check for check in suite}


def test_every_rollup_is_checked_for_its_record_counts_its_keys_and_its_rows() -> None:
    checks = checks_of(replace(ROLLUP, checks=(Check("some", "n > 0"), Check("many", "n > 5", "warning"))))
    assert {name: (check.sql, check.expected, check.comparison) for name, check in checks.items()} == {
        "complete": ("0", "0", "equal"),
        "written": ("count(1)", "4", "equal"),
        "not_empty": ("count(1)", "1", "at_least"),
        "control_total": ("coalesce(sum(_rows), 0)", "11", "equal"),
        "well_formed": ("count_if(not coalesce(cast((_rows > 0) as boolean), false))", "0", "equal"),
        "unique_keys": ("", "0", "equal"),
        "some": ("count_if(not coalesce(cast((n > 0) as boolean), false))", "0", "equal"),
        "many": ("count_if(not coalesce(cast((n > 5) as boolean), false))", "0", "equal"),
    }
    assert checks["unique_keys"].keys == ("k", "l")
    assert {name for name, check in checks.items() if check.severity == "warning"} == {"many"}


def test_a_rollup_never_has_fewer_rows_than_a_build_before() -> None:
    check = checks_of(ROLLUP, replace(FACTS, before=9))["not_fewer_rows"]
    assert (check.sql, check.expected, check.comparison) == ("count(1)", "9", "at_least")


def test_a_keyed_view_is_checked_for_the_events_that_its_query_read() -> None:
    checks = checks_of(KEYED, replace(FACTS, used=10, before=None))
    assert (checks["control_total"].sql, checks["control_total"].expected) == ("10", "11")
    assert checks["well_formed"].broken == "not coalesce(cast((_rows = 1 and `k` is not null) as boolean), false)"
    assert "unique_keys" not in checks


@pytest.mark.parametrize(
    ("view", "good", "least"),
    [
        (ROLLUP, {"a": 6, "b": 0}, "1"),
        (ROLLUP, {"a": 0, "b": 0}, "0"),
        (ROLLUP, {}, "0"),
        (replace(ROLLUP, allow_empty=True), {"a": 6, "b": 6}, "0"),
        (KEYED, {"a": 6, "b": 1}, "1"),
        (KEYED, {"a": 6, "b": 0}, "0"),
        (replace(KEYED, allow_empty=True), {"a": 6, "b": 6}, "0"),
    ],
)
def test_an_empty_view_is_allowed_where_the_log_has_nothing_for_it(
    view: View, good: dict[str, int], least: str
) -> None:
    assert checks_of(view, replace(FACTS, good=good))["not_empty"].expected == least


def test_a_gap_in_the_record_counts_is_reported_with_its_partition() -> None:
    check = checks_of(ROLLUP, replace(FACTS, problems=("a/0: 5 offsets, 4 decoded",)))["complete"]
    assert check.sql == "1"
    assert "a/0: 5 offsets" in check.description


def test_totals_read_the_other_view_of_the_same_build_and_freshness_the_time_of_the_claim() -> None:
    total = Total("same", "sum(n)", "k", "count(1)")
    view = replace(ROLLUP, checks=(total, replace(total, name="gone", other="x"), Fresh("new", "max(t)", 5_000)))
    checks = checks_of(view)
    assert checks["same"].expected_sql == "(select cast(count(1) as string) from gate__k)"
    assert "gone" not in checks
    assert (checks["new"].sql, checks["new"].comparison) == ("unix_millis(cast(max(t) as timestamp))", "at_least")
    assert checks["new"].expected == "1767323040000"  # 2026-01-02 03:04:00 UTC


def test_a_topic_is_checked_for_its_record_counts_and_each_rule_of_its_decoder() -> None:
    checks = topic_suite(TOPIC, records=2_000, quarantined=3)
    assert [(check.name, check.expected) for check in checks[:4]] == [
        ("control_total", "2000"),
        ("quarantined", "3"),
        ("quarantined_share", "1980"),
        ("known_rules", "0"),
    ]
    rules = [
        "redriven_original_decodes",
        "null_value",
        "too_long",
        "bad_utf8",
        "null_key",
        "not_json",
        "unknown_version",
    ]
    rules += ["field_x", "field_y", "field_event_time", "rule_sane"]
    assert [(check.name, check.severity) for check in checks[4:]] == [(rule, "warning") for rule in rules]
    lines = Topic("l", Lines("(.*) (.*)"), (Field("x"), Field("event_time", "timestamp")), event_time="event_time")
    of_lines = ["redriven_original_decodes", "null_value", "too_long", "bad_utf8"]
    assert list(rule_names(lines)) == [*of_lines, "no_match", "field_x", "field_event_time"]
    changes = rule_names(replace(TOPIC, changelog=True))
    assert ("null_value" in changes, "bad_utf8_key" in changes) == (False, True)
    numbered = rule_names(replace(TOPIC, changelog=True, key_encoding="int32"))
    assert ("bad_utf8_key" in numbered, "bad_key" in numbered) == (False, True)


def test_a_check_without_an_outcome_refuses_the_build() -> None:
    passed = CheckOutcome("control_total", success=True, observed="3", expected="3")
    assert refusals([TOTAL], [passed]) == ()
    assert refusals([], []) == ("there is no check",)
    assert refusals([GateCheck("some", "")], [CheckOutcome("some", success=True)]) == ("there is no control total",)
    assert refusals([TOTAL, GateCheck("some", "")], [passed]) == ("some: it gave no result",)
    crashed = CheckOutcome("some", success=False, crash="why")
    for severity in ("critical", "warning"):
        check = GateCheck("some", "", severity=severity)
        assert refusals([TOTAL, check], [passed, crashed]) == (f"some ({severity}): it cannot be evaluated: why",)
    failed = CheckOutcome("some", success=False, observed="2", expected="0")
    assert refusals([TOTAL, GateCheck("some", "rows")], [passed, failed]) == ("some: rows: 2, expected 0",)
    assert refusals([TOTAL, GateCheck("some", "rows", severity="warning")], [passed, failed]) == ()


@pytest.mark.parametrize(
    ("comparison", "observed", "expected", "passed"),
    [
        ("equal", "5", "5.00", True),
        ("equal", "12345678901234567890123456789012345678", "12345678901234567890123456789012345679", False),
        ("equal", "abc", "abc", True),
        ("equal", "abc", "5", False),
        ("equal", None, None, True),
        ("equal", None, "0", False),
        ("equal", "0", None, False),
        ("at_least", "5", "5", True),
        ("at_least", "6", "5", True),
        ("at_least", "4", "5", False),
        ("at_least", None, "5", False),
    ],
)
def test_observed_values_are_compared_exactly(
    comparison: str, observed: str | None, expected: str | None, passed: bool
) -> None:
    assert holds(comparison, observed, expected) is passed


def test_a_comment_at_the_end_of_a_check_hides_nothing_of_it() -> None:
    dear = checks_of(replace(ROLLUP, checks=(Check("dear", "n > 5 -- all of them"),)))["dear"]
    assert dear.broken == "not coalesce(cast((n > 5 -- all of them\n) as boolean), false)"
