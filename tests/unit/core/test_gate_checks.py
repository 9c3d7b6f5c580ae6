"""The gate's questions: what every view is asked, what its own file adds, and when a suite refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.gate_checks import BuildFacts, CheckAnswer, GateCheck, holds, refusals, rule_names, topic_suite, view_suite
from core.measures import Count
from core.topic import Field, Json, Lines, Rule, Topic, Version
from core.view import Check, Fresh, Key, Keyed, Result, Rollup, Total, View

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LEDGER = BuildFacts(written=4, expected=11, used=None, good={"a": 6, "b": 0}, problems=(), before=None, claimed_at=AT)
ROLLUP = Rollup("r", ("a", "b"), keys=(Key("k", "k"), Key("l", "l")), measures=(Count("n"),))
KEYED = Keyed("k", ("a", "b"), keys=(Key("k", "k"),), results=(Result("n", "bigint"),), query="{a} {b}")
TOPIC = Topic("a", Json((Version(1, ("x", "y")),)), (Field("x"), Field("y")), key="x", rules=(Rule("sane", "x <> y"),))
TOTAL = GateCheck("control_total", "", "count(1)")


def asked(view: View, ledger: BuildFacts = LEDGER) -> dict[str, GateCheck]:
    suite = view_suite(view, ledger, ["r", "k"])
    assert len({one.check for one in suite}) == len(suite)
    return {one.check: one for one in suite}


def test_every_rollup_is_asked_for_its_ledger_its_keys_and_its_rows() -> None:
    found = asked(replace(ROLLUP, checks=(Check("some", "n > 0"), Check("many", "n > 5", "warning"))))
    assert {name: (one.sql, one.wanted, one.how) for name, one in found.items()} == {
        "complete": ("0", "0", "equal"),
        "written": ("count(1)", "4", "equal"),
        "not_empty": ("count(1)", "1", "at_least"),
        "control_total": ("coalesce(sum(_rows), 0)", "11", "equal"),
        "well_formed": ("count_if(not coalesce(cast((_rows > 0) as boolean), false))", "0", "equal"),
        "unique_keys": ("", "0", "equal"),
        "some": ("count_if(not coalesce(cast((n > 0) as boolean), false))", "0", "equal"),
        "many": ("count_if(not coalesce(cast((n > 5) as boolean), false))", "0", "equal"),
    }
    assert found["unique_keys"].keys == ("k", "l")
    assert {name for name, one in found.items() if one.severity == "warning"} == {"many"}


def test_a_rollup_never_has_fewer_rows_than_a_build_before() -> None:
    found = asked(ROLLUP, replace(LEDGER, before=9))["not_fewer_rows"]
    assert (found.sql, found.wanted, found.how) == ("count(1)", "9", "at_least")


def test_a_keyed_view_is_asked_for_the_events_that_its_query_had() -> None:
    found = asked(KEYED, replace(LEDGER, used=10, before=None))
    assert (found["control_total"].sql, found["control_total"].wanted) == ("10", "11")
    assert found["well_formed"].broken == "not coalesce(cast((_rows = 1 and `k` is not null) as boolean), false)"
    assert "unique_keys" not in found


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
    assert asked(view, replace(LEDGER, good=good))["not_empty"].wanted == least


def test_a_gap_in_the_ledger_is_told_with_its_place() -> None:
    found = asked(ROLLUP, replace(LEDGER, problems=("a/0: 5 offsets, 4 decoded",)))["complete"]
    assert found.sql == "1"
    assert "a/0: 5 offsets" in found.about


def test_totals_ask_the_other_view_of_the_same_build_and_freshness_the_time_of_the_claim() -> None:
    total = Total("same", "sum(n)", "k", "count(1)")
    view = replace(ROLLUP, checks=(total, replace(total, name="gone", other="x"), Fresh("new", "max(t)", 5_000)))
    found = asked(view)
    assert found["same"].wanted_sql == "(select cast(count(1) as string) from gate__k)"
    assert "gone" not in found
    assert (found["new"].sql, found["new"].how) == ("unix_millis(cast(max(t) as timestamp))", "at_least")
    assert found["new"].wanted == "1767323040000"  # 2026-01-02 03:04:00 UTC


def test_a_topic_is_asked_for_its_ledger_and_each_rule_that_its_decoder_has() -> None:
    found = topic_suite(TOPIC, records=10, quarantined=3)
    assert [(one.check, one.wanted) for one in found[:3]] == [
        ("control_total", "10"),
        ("quarantined", "3"),
        ("known_rules", "0"),
    ]
    rules = ["null_value", "too_long", "bad_utf8", "null_key", "not_json", "unknown_version"]
    rules += ["field_x", "field_y", "field_event_time", "rule_sane"]
    assert [(one.check, one.severity) for one in found[3:]] == [(rule, "warning") for rule in rules]
    lines = Topic("l", Lines("(.*) (.*)"), (Field("x"), Field("event_time", "timestamp")), event_time="event_time")
    assert rule_names(lines) == ("null_value", "too_long", "bad_utf8", "no_match", "field_x", "field_event_time")
    changes = rule_names(replace(TOPIC, changelog=True))
    assert ("null_value" in changes, "bad_utf8_key" in changes) == (False, True)


def test_it_fails_closed() -> None:
    held = CheckAnswer("control_total", success=True, found="3", wanted="3")
    assert refusals([TOTAL], [held]) == ()
    assert refusals([], []) == ("there is no check",)
    assert refusals([GateCheck("some", "")], [CheckAnswer("some", success=True)]) == ("there is no control total",)
    assert refusals([TOTAL, GateCheck("some", "")], [held]) == ("some: it gave no result",)
    crashed = CheckAnswer("some", success=False, crash="why")
    for severity in ("critical", "warning"):
        question = GateCheck("some", "", severity=severity)
        assert refusals([TOTAL, question], [held, crashed]) == (f"some ({severity}): it cannot be evaluated: why",)
    failed = CheckAnswer("some", success=False, found="2", wanted="0")
    assert refusals([TOTAL, GateCheck("some", "rows")], [held, failed]) == ("some: rows: 2, wanted 0",)
    assert refusals([TOTAL, GateCheck("some", "rows", severity="warning")], [held, failed]) == ()


@pytest.mark.parametrize(
    ("how", "found", "wanted", "held"),
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
def test_what_is_found_is_compared_exactly(how: str, found: str | None, wanted: str | None, held: bool) -> None:
    assert holds(how, found, wanted) is held
