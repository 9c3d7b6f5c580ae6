"""Great Expectations evaluates the gate's checks. Each kind of bad build and each check that crashes is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from core.checks import AnyCheck
from core.decoding.decode import decode
from core.gate_checks import BuildFacts, CheckOutcome, GateCheck, refusals, rule_names, topic_suite, view_suite
from core.measures import Count, Sum
from core.topic import Field, Json, Topic, Version
from core.view import Check, Fresh, Key, Keyed, Result, Rollup, Total, View
from infra.quality.expectations import SuiteRun, evaluate_suite, open_context, repeated_keys
from tests.support.oracle.view_oracle import Record
from tests.support.records.frames import from_kafka
from tests.support.records.sales import SalesRow, sales

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SALES = Rollup(
    "sales",
    ("trades",),
    keys=(Key("shop", "shop"), Key("day", "day", "bigint")),
    measures=(Count("n"), Sum("volume", "size")),
    checks=(Check("some", "n > 0"), Check("small", "volume < 100", severity="warning")),
)
ROWS: list[SalesRow] = [("a", 1, 3, 30, 3), ("a", 2, 1, 1, 1), ("b", 1, 2, 7, 2), (None, 1, 5, 50, 5)]
TOPIC = Topic("trades", Json((Version(1, ("a", "b")),)), (Field("a", "bigint"), Field("b")), key="a")
LEDGER = BuildFacts(written=4, expected=11, used=None, good={"trades": 11}, problems=(), before=4, claimed_at=NOW)


def outcomes_of(
    folder: Path, name: str, rows: DataFrame, suite: tuple[GateCheck, ...], **views: DataFrame
) -> list[CheckOutcome]:
    with open_context(views, folder / "gate.log") as context:
        return evaluate_suite(SuiteRun(name, rows, suite), context)


def refused_by(
    spark: SparkSession, folder: Path, view: View = SALES, rows: list[SalesRow] = ROWS, ledger: BuildFacts = LEDGER
) -> list[str]:
    """The names of the checks that refuse the build."""
    suite = view_suite(view, ledger, [view.name])
    outcomes = outcomes_of(folder, view.name, sales(spark, rows), suite)
    return [reason.split(":")[0] for reason in refusals(suite, outcomes)]


def with_checks(*checks: AnyCheck) -> Rollup:
    return replace(SALES, checks=checks)


def test_a_good_candidate_passes_every_check(spark: SparkSession, tmp_path: Path) -> None:
    suite = view_suite(SALES, LEDGER, ["sales"])
    outcomes = outcomes_of(tmp_path, "sales", sales(spark, ROWS), suite)
    assert sorted(
        (outcome.name, outcome.success, outcome.observed, outcome.expected, outcome.crash) for outcome in outcomes
    ) == [
        ("complete", True, "0", "0", ""),
        ("control_total", True, "11", "11", ""),
        ("not_empty", True, "4", "1", ""),
        ("not_fewer_rows", True, "4", "4", ""),
        ("small", True, "0", "0", ""),
        ("some", True, "0", "0", ""),
        ("unique_keys", True, "0", "0", ""),
        ("well_formed", True, "0", "0", ""),
        ("written", True, "4", "4", ""),
    ]
    assert refusals(suite, outcomes) == ()


@pytest.mark.parametrize(
    ("rows", "ledger", "expected"),
    [
        ([*ROWS[:3], (None, 1, 0, 50, 5)], LEDGER, ["some"]),
        ([*ROWS[:3], (None, 1, 5, None, 5)], LEDGER, []),
        ([*ROWS[:3], (None, 1, 5, 100, 5)], LEDGER, []),
        ([*ROWS[1:], ROWS[1]], replace(LEDGER, expected=9), ["unique_keys"]),
        ([*ROWS[:2], *ROWS[3:], ROWS[3]], replace(LEDGER, expected=14), ["unique_keys"]),
        (ROWS[1:], LEDGER, ["written", "control_total", "not_fewer_rows"]),
        (ROWS[1:], replace(LEDGER, written=3, expected=8), ["not_fewer_rows"]),
        ([*ROWS[:3], (None, 1, 5, 50, 0)], replace(LEDGER, expected=6), ["well_formed"]),
        ([], LEDGER, ["written", "not_empty", "control_total", "not_fewer_rows"]),
        ([], replace(LEDGER, written=0, expected=0, before=None), ["not_empty"]),
        ([], replace(LEDGER, written=0, expected=0, before=None, good={"trades": 0}), []),
        (ROWS, replace(LEDGER, problems=("trades/0: 12 offsets, 11 decoded",)), ["complete"]),
    ],
    ids=[
        "one row broken",
        "null breaks a warning",
        "a warning that fails",
        "a key twice",
        "a null key twice",
        "a row missing",
        "a row fewer than before",
        "a row of no event",
        "empty",
        "empty with good records",
        "empty as the log is",
        "a record missing",
    ],
)
def test_each_bad_candidate_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, rows: list[SalesRow], ledger: BuildFacts, expected: list[str]
) -> None:
    assert refused_by(spark, tmp_path, rows=rows, ledger=ledger) == expected


@pytest.mark.slow
def test_a_check_that_crashes_refuses_even_as_a_warning_and_the_other_outcomes_are_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    view = with_checks(
        Check("crash", "1 / (n - n) > 0"),
        Check("gone", "nothing > 0", "warning"),
        Check("few", "n < 3"),
        Check("fine", "n > 0"),
    )
    suite = view_suite(view, LEDGER, ["sales"])
    outcomes = {outcome.name: outcome for outcome in outcomes_of(tmp_path, "sales", sales(spark, ROWS), suite)}
    assert "DIVIDE_BY_ZERO" in outcomes["crash"].crash
    assert "UNRESOLVED_COLUMN" in outcomes["gone"].crash
    assert (outcomes["few"].observed, outcomes["few"].crash) == ("2", "")
    assert (outcomes["fine"].success, outcomes["control_total"].success) == (True, True)
    reasons = [reason.split(":")[0] for reason in refusals(suite, list(outcomes.values()))]
    assert reasons == ["crash (critical)", "gone (warning)", "few"]
    assert "Traceback" in (tmp_path / "gate.log").read_text("utf-8")


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (Total("same", "sum(n)", "others", "sum(times) div 2"), []),
        (Total("same", "sum(volume)", "others", "cast(sum(times) * 4 as decimal(38,2))"), []),
        (Total("same", "sum(n)", "others", "sum(times)"), ["same"]),
        (Total("same", "sum(n)", "others", "sum(nothing)"), ["same (critical)"]),
        (Total("same", "sum(n)", "others", "sum(times)", "warning"), []),
        (Total("same", "sum(n)", "others", "1 div (sum(times) - 22)", "warning"), ["same (warning)"]),
        (Total("same", "sum(n)", "absent", "sum(times)"), []),
        (Fresh("new", "timestamp_seconds(max(day) * 1767312000)", 86_400_000), []),
        (Fresh("new", "timestamp_seconds(max(day))", 60_000), ["new"]),
        (Fresh("new", "timestamp_seconds(max(day))", 60_000, "warning"), []),
        (Fresh("new", "cast(null as timestamp)", 60_000), ["new"]),
    ],
    ids=[
        "equal",
        "equal at another scale",
        "differ",
        "crash",
        "a warning",
        "a warning that crashes",
        "not in the build",
        "new",
        "stale",
        "stale, a warning",
        "no time",
    ],
)
def test_totals_across_views_and_freshness(
    spark: SparkSession, tmp_path: Path, check: AnyCheck, expected: list[str]
) -> None:
    others = spark.createDataFrame([(10,), (12,)], "times bigint")
    suite = view_suite(with_checks(check), LEDGER, ["sales", "others"])
    outcomes = outcomes_of(tmp_path, "sales", sales(spark, ROWS), suite, others=others)
    assert [reason.split(":")[0] for reason in refusals(suite, outcomes)] == expected


def test_a_keyed_view_needs_a_key_in_every_row_and_one_count_per_row(spark: SparkSession, tmp_path: Path) -> None:
    view = Keyed("gaps", ("trades",), keys=(Key("shop", "shop"),), results=(Result("n", "bigint"),), query="{trades}")
    ledger = replace(LEDGER, expected=9, used=9)
    columns = "shop string, n bigint, _segment bigint, _rows bigint"
    good_rows: list[Any] = [("a", 1, 0, 1), ("a", 1, 0, 1), ("b", 2, 0, 1), ("b", 3, 0, 1)]

    def refused_checks(rows: list[Any], ledger: BuildFacts = ledger) -> list[str]:
        suite = view_suite(view, ledger, ["gaps"])
        outcomes = outcomes_of(tmp_path, "gaps", spark.createDataFrame(rows, columns), suite)
        return [reason.split(":")[0] for reason in refusals(suite, outcomes)]

    assert refused_checks(good_rows) == []
    assert refused_checks([*good_rows[:3], (None, 3, 0, 1)]) == ["well_formed"]
    assert refused_checks([*good_rows[:3], ("b", 3, 0, 2)]) == ["well_formed"]
    assert refused_checks(good_rows, replace(ledger, used=8)) == ["control_total"]
    assert refused_checks(good_rows[:3]) == ["written"]


def test_broken_records_are_counted_per_rule_and_refuse_nothing(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame(
        [(None, 90), ("null_key", 4), ("field_a,field_b", 2), ("field_b", 1)], "_error string, records bigint"
    )
    suite = topic_suite(TOPIC, records=97, quarantined=7)
    outcomes = {outcome.name: outcome for outcome in outcomes_of(tmp_path, "topic:trades", rows, suite)}
    assert {name: outcome.observed for name, outcome in outcomes.items() if outcome.observed != "0"} == {
        "control_total": "97",
        "quarantined": "7",
        "quarantined_share": "90",
        "null_key": "4",
        "field_a": "2",
        "field_b": "3",
    }
    assert refusals(suite, list(outcomes.values())) == ()
    strict = topic_suite(replace(TOPIC, most_quarantined=0.0), records=101, quarantined=11)
    eleven = rows.union(spark.createDataFrame([("field_a", 4)], rows.schema))
    failed = [outcome.name for outcome in outcomes_of(tmp_path, "topic:trades", eleven, strict) if not outcome.success]
    assert failed == ["quarantined_share", "null_key", "field_a", "field_b"]
    wrong_suite = topic_suite(TOPIC, records=98, quarantined=6)
    more_rows = rows.union(spark.createDataFrame([("field_a,field_q", 1)], rows.schema))
    wrong_outcomes = outcomes_of(tmp_path, "topic:trades", more_rows, wrong_suite)
    assert [reason.split(":")[0] for reason in refusals(wrong_suite, wrong_outcomes)] == ["quarantined", "known_rules"]


def test_great_expectations_leaves_and_prints_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    rows = sales(spark, ROWS)
    tables_before: Mapping[str, Any] = {table.name: table for table in spark.catalog.listTables()}
    suite = view_suite(with_checks(Check("few", "n < 3")), LEDGER, ["sales"])
    with open_context({"sales": rows}, tmp_path / "gate.log") as context:
        outcomes = evaluate_suite(SuiteRun("sales", rows, suite), context)
    assert {outcome.name for outcome in outcomes if not outcome.success} == {"few"}
    assert {table.name for table in spark.catalog.listTables()} == set(tables_before)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_repeated_keys_are_named(spark: SparkSession) -> None:
    repeated = repeated_keys(sales(spark, [*ROWS, ROWS[3], ROWS[0]]), ["shop", "day"]).collect()
    assert sorted((row["shop"] or "", row["day"]) for row in repeated) == [("", 1), ("a", 1)]


def test_every_rule_that_the_decoder_names_is_one_of_the_topics(spark: SparkSession) -> None:
    values = [None, b"\xff", b"{", b"x" * 70_000, b'{"version": "9"}', b'{"a": "z", "b": "y"}', b'{"a": "1"}']
    for topic in (TOPIC, replace(TOPIC, changelog=True)):
        keys = [b"k", None, b"\xff"]
        records = [Record("t", 0, n, 1_700_000_000_000, key, v) for n, (v, key) in enumerate(product(values, keys))]
        rows = decode(topic, from_kafka(spark, records)).select("_error").collect()
        named = {name for row in rows for name in (row["_error"] or "").split(",") if name}
        assert len(named) > 4
        assert named <= set(rule_names(topic))
