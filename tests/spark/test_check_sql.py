"""Mistakes in the SQL of topics and views are reported with file and line, without data."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from core.topic import Field, Json, Rule, Topic, Version
from core.view import Fresh, Total
from infra.definitions.check_sql import sql_mistakes
from infra.definitions.definition_files import load
from infra.definitions.presentation_sql import shown_sql
from infra.definitions.sql_problems import spark_check
from infra.project_files import ROOT
from infra.settings import Settings

TOPIC = """
from core.topic import Field, Json, Rule, Topic, Version

TOPIC = Topic(
    "songs",
    event_time="at",
    format=Json((Version(1, ("title", "at", "plays")), Version(2, ("name", "at", "plays"), {"title": "trim(name)"}))),
    fields=(
        Field("title", pattern="[a-z]+"),
        Field("at", "timestamp", time_format="yyyy-MM-dd"),
        Field("plays", "bigint", required=False, maximum="1000000"),
        Field("price", "decimal(10,2)", required=False),
    ),
    rules=(Rule("sane", "plays <= 1000000 or plays is null"),),
)
"""
VIEW = """
from core.measures import Count, Latest, Min, Sum
from core.view import Check, Explode, Key, Rollup, Window

VIEW = Rollup(
    "plays",
    ("songs",),
    keys=(Key("word", "word"),),
    explode=Explode("word", "split(title, ' ')"),
    where="plays > 0",
    measures=(
        Count("songs", "length(word) > 3"),
        Sum("plays", "plays"),
        Min("cheapest", "price", type="decimal(10,2)"),
        Latest("newest", "title"),
    ),
    window=Window("day", 86_400_000),
    checks=(Check("some", "songs > 0"),),
)
"""


KEYED = """
from core.view import Key, Keyed, Result

VIEW = Keyed(
    "plays",
    sources=("songs",),
    keys=(Key("code", "lower(title)"),),
    query="SELECT code, sum(plays) AS total, max(price) AS highest FROM {songs} GROUP BY code",
    results=(Result("total", "bigint"), Result("highest", "decimal(10,2)")),
)
"""


def problems_of(spark: SparkSession, folder: Path, topic: str = TOPIC, view: str = VIEW) -> list[tuple[str, int, str]]:
    (folder / "songs.py").write_text(topic)
    (folder / "plays.py").write_text(view)
    catalog = load(Settings(views=(folder,)))
    own_topic, own_view = catalog.topic("songs"), catalog.view("plays")
    own = Catalog({Name("songs"): own_topic}, {Name("plays"): own_view}, catalog.files)
    problems = spark_check(spark, own).problems
    return [(Path(problem.file).name, problem.line, problem.text) for problem in problems]


def test_no_mistakes(spark: SparkSession, tmp_path: Path) -> None:
    assert problems_of(spark, tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('"[a-z]+"', '"[a-z"', 9, "pattern: "),
        ('"yyyy-MM-dd"', '"yyyy-bb"', 10, "time_format: "),
        ("trim(name)", "trim(nme)", 7, "upcast of title: [UNRESOLVED_COLUMN"),
        ("trim(name)", "trim(name", 7, "upcast of title: [PARSE_SYNTAX_ERROR"),
        ("trim(name)", "length(name)", 7, "upcast of title: must be a string, is int"),
        ("trim(name)", "cast(cast(name as int) as string)", 7, "upcast of title: fails for extreme values: "),
        ("plays <= 1000000 or plays is null", "plays + 1", 14, "must be a boolean, is bigint"),
        ("plays <= 1000000 or plays is null", "1 / plays > 0 and clap", 14, "[UNRESOLVED_COLUMN"),
        ("plays <= 1000000 or plays is null", "plays * plays > 0", 14, "fails for extreme values: "),
        ("plays <= 1000000 or plays is null", "at < now()", 14, "gives another result each time"),
        ("plays <= 1000000 or plays is null", "at < current_timestamp", 14, "gives another result each time"),
        ("plays <= 1000000 or plays is null", "max(plays) > 0", 14, "needs other rows than its own"),
        ("trim(name)", "max(name)", 7, "upcast of title: needs other rows than its own"),
    ],
)
def test_mistakes_of_a_topic(spark: SparkSession, tmp_path: Path, old: str, new: str, line: int, text: str) -> None:
    assert old in TOPIC
    problems = problems_of(spark, tmp_path, topic=TOPIC.replace(old, new))
    assert [problem for problem in problems if problem[2].startswith(text)] == [("songs.py", line, problems[0][2])], (
        problems
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ('Key("word", "word")', 'Key("word", "wrd")', 8, "[UNRESOLVED_COLUMN"),
        ('Key("word", "word")', 'Key("word", "word", "bigint")', 8, "is string, declared bigint"),
        ("split(title, ' ')", "title", 9, "must be an array, is string"),
        ('Key("word", "word")', 'Key("word", "max(word)")', 8, "needs other rows than its own"),
        ('Key("word", "word")', 'Key("word", "explode(array(word))")', 8, "needs other rows than its own"),
        ('where="plays > 0"', 'where="plays"', 5, "where: must be a boolean, is bigint"),
        ('where="plays > 0"', 'where="count(1) over (partition by title) > 1"', 5, "where: needs other rows than its"),
        ('where="plays > 0"', 'where="plays in (select 1)"', 5, "from songs: ["),
        (
            'Window("day", 86_400_000)',
            'Window("day", 10**16, 10**14)',
            5,
            "from songs: java.lang.ArithmeticException: long overflow",
        ),
        ('Key("word", "word")', 'Key("word", "string(timestamp_millis(plays * 10000000000))")', 8, "fails for extreme"),
        ('"length(word) > 3"', '"length(word)"', 12, "must be a boolean, is int"),
        ('Sum("plays", "plays")', 'Sum("plays", "price")', 13, "has 2 decimal places, declared scale 0"),
        ('Sum("plays", "plays")', 'Sum("plays", "sqrt(plays)")', 13, "must be an integer or a decimal, is double"),
        ('Sum("plays", "plays")', 'Sum("plays", "plays *")', 13, "[PARSE_SYNTAX_ERROR"),
        ('Sum("plays", "plays")', 'Sum("plays", "plays * 10000000000000")', 13, "fails for extreme values: "),
        ('Sum("plays", "plays")', f'Sum("plays", "plays * 1{"0" * 25}BD")', 13, "fails for extreme values: cast("),
        ('Sum("plays", "plays")', f'Sum("plays", "(plays - price) * 1{"0" * 18}BD", scale=2)', 13, "fails for extreme"),
        ('Sum("plays", "plays")', 'Sum("plays", "cast(100 * rand() as int)")', 13, "gives another result each time"),
        (
            '"price", type="decimal(10,2)"',
            '"price", type="decimal(10,1)"',
            14,
            "is decimal(10,2), declared decimal(10,1)",
        ),
        ('Latest("newest", "title")', 'Latest("newest", "plays")', 15, "is bigint, declared string"),
        ('Check("some", "songs > 0")', 'Check("some", "song > 0")', 18, "[UNRESOLVED_COLUMN"),
        ('Check("some", "songs > 0")', 'Check("some", "plays")', 18, "must be a boolean, is decimal(38,0)"),
    ],
)
def test_mistakes_of_a_view(spark: SparkSession, tmp_path: Path, old: str, new: str, line: int, text: str) -> None:
    assert old in VIEW
    problems = problems_of(spark, tmp_path, view=VIEW.replace(old, new))
    assert [problem for problem in problems if problem[2].startswith(text)] == [("plays.py", line, problems[0][2])], (
        problems
    )


@pytest.mark.parametrize("sql", ["event_time > timestamp'2020-01-01'", "deleted is null", "_offset > 5"])
def test_a_rule_over_a_column_that_decoding_does_not_give_is_a_mistake(spark: SparkSession, sql: str) -> None:
    topic = Topic(
        "songs",
        Json((Version(1, ("title", "at")),)),
        (Field("title"), Field("at", "timestamp")),
        key="title",
        event_time="at",
        changelog=True,
        rules=(Rule("late", sql), Rule("named", "title <> '' and at <= _timestamp")),
    )
    (mistake,) = sql_mistakes(spark, topic, Catalog({Name("songs"): topic}, {}))
    assert (mistake.kind, mistake.name) == ("Rule", "late")
    assert mistake.text.endswith("A rule may name the columns title, at, _key, _value, _timestamp")


def test_what_spark_refuses_in_a_view_leaves_the_mistakes_of_others(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "songs.py").write_text(TOPIC)
    (tmp_path / "plays.py").write_text(VIEW.replace('Key("word", "word")', 'Key("word", "max(word)")'))
    (tmp_path / "other.py").write_text(KEYED.replace('"plays",', '"other",').replace("lower(title)", "max(title)"))
    catalog = load(Settings(views=(tmp_path,)))
    views = {Name(name): catalog.view(name) for name in ("plays", "other")}
    own = Catalog({Name("songs"): catalog.topic("songs")}, views, catalog.files)
    problems = [(Path(problem.file).name, problem.line) for problem in spark_check(spark, own).problems]
    assert problems == [("other.py", 7), ("plays.py", 8)]
    # Spark refuses the rule where the view is checked, which is no error of the whole check either.
    wrong = replace(catalog.topic("songs"), rules=(Rule("wrong", "clap > 0"),))
    for view in views.values():
        (mistake,) = sql_mistakes(spark, view, Catalog({Name("songs"): wrong}, views))
        assert (mistake.name, mistake.text[:18]) == (view.name, "[UNRESOLVED_COLUMN")


BOUNDED = TOPIC.replace("maximum=", 'minimum="-1000000", maximum=')
UNBOUNDED = TOPIC.replace(', maximum="1000000"', "").replace("plays <= 1000000 or plays is null", "true")


@pytest.mark.parametrize(
    ("topic", "old", "new", "text"),
    [
        (BOUNDED, "", "", ""),
        (TOPIC, "", "", "query: [ARITHMETIC_OVERFLOW"),  # it has no minimum
        (UNBOUNDED, "", "", "query: [ARITHMETIC_OVERFLOW"),
        (UNBOUNDED, "sum(plays)", "sum(-plays)", "query: [ARITHMETIC_OVERFLOW"),
        (UNBOUNDED, "sum(plays)", "max(plays)", ""),
        (BOUNDED, "lower(title)", "cast(cast(title as int) as string)", "fails for extreme values: "),
        (BOUNDED.replace("[a-z]+", "[A-Z0-9]{3}"), "lower(title)", "cast(cast(title as int) as string)", "fails for"),
        (BOUNDED.replace("[a-z]+", "[0-9]{3}"), "lower(title)", "cast(cast(title as int) as string)", ""),
        (BOUNDED.replace("[a-z]+", "v[0-9]+-x|w"), "lower(title)", "string(int(substr(title, 2, 1)))", "fails for"),
        (BOUNDED, "max(price)", "max(cast(title as decimal(10,2)))", "query: [CAST_INVALID_INPUT"),
    ],
)
def test_a_keyed_view_that_a_valid_event_stops_is_a_mistake(
    spark: SparkSession, tmp_path: Path, topic: str, old: str, new: str, text: str
) -> None:
    texts = [problem[2] for problem in problems_of(spark, tmp_path, topic, KEYED.replace(old, new) if old else KEYED)]
    assert [actual.startswith(text) for actual in texts] == ([True] if text else []), texts


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (Total("t", "sum(requests) div 2", "traffic_by_hour", "sum(requests)"), ""),
        (Total("t", "sum(request)", "traffic_by_hour", "sum(requests)"), "[UNRESOLVED_COLUMN"),
        (Total("t", "sum(requests)", "traffic_by_hour", "sum(requests) / 2"), "is double, which does not add up"),
        (Total("t", "sum(requests)", "traffic_by_hour", "sum(errors)"), "[UNRESOLVED_COLUMN"),
        (Total("t", "requests", "traffic_by_hour", "sum(requests)"), "[MISSING_GROUP_BY"),
        (Fresh("f", "max(last_seen)", 1_000), ""),
        (Fresh("f", "max(requests)", 1_000), "must be a time, is bigint"),
    ],
)
def test_mistakes_of_totals_and_freshness(spark: SparkSession, check: Total | Fresh, text: str) -> None:
    catalog = load(Settings())
    view = replace(catalog.view("traffic_by_path"), checks=(check,))
    texts = [mistake.text for mistake in sql_mistakes(spark, view, catalog)]
    assert [mistake_text.startswith(text) for mistake_text in texts] == ([True] if text else []), texts


@pytest.mark.slow
def test_this_projects_own_sql_has_no_mistakes(spark: SparkSession) -> None:
    assert spark_check(spark, load(Settings())).problems == []


def test_trino_validates_the_sql_of_shown_columns() -> None:
    view = load(Settings()).view("traffic_by_hour")
    assert shown_sql(view) == {
        "bytes_mean": 'SELECT "status_class", "hour", "requests", "bytes", "sized", '
        "cast(bytes as decimal(38,2)) / nullif(sized, 0) AS bytes_mean FROM "
        '(SELECT CAST(NULL AS varchar) AS "status_class", CAST(NULL AS timestamp(3) with time zone) AS "hour", '
        'CAST(NULL AS bigint) AS "requests", CAST(NULL AS decimal(38,0)) AS "bytes", CAST(NULL AS bigint) AS "sized", '
        'CAST(NULL AS bigint) AS "_rows")'
    }


@pytest.mark.slow
def test_the_examples_of_the_documentation_have_no_mistakes(spark: SparkSession, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "add-a-view.md").read_text()
    for name, text in re.findall(r"```python file=(\S+)\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(text)
    catalog = load(Settings(views=(tmp_path,)))
    documented = catalog.only(["plays_by_word", "plays_in_a_row"])
    assert spark_check(spark, documented).problems == []


def test_what_has_passed_is_not_checked_again_and_what_reads_a_mistake_does_not_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "songs.py").write_text(TOPIC)
    (tmp_path / "plays.py").write_text(VIEW.replace('"plays > 0"', '"plays"'))
    catalog = load(Settings(views=(tmp_path,)))
    own = Catalog({Name("songs"): catalog.topic("songs")}, {Name("plays"): catalog.view("plays")}, catalog.files)
    first = spark_check(spark, own)
    assert [problem.line for problem in first.problems] == [5]
    assert first.passed == {("topic", "songs")}
    again = spark_check(spark, own, unchanged=first.passed)
    assert again.problems == first.problems
    assert again.passed == frozenset()
    # The same mistake is not seen in a view that is given as unchanged: so Spark was not asked about it.
    skipped = spark_check(spark, own, unchanged={("view", "plays")})
    assert not skipped.problems
    assert skipped.passed == {("topic", "songs")}
    wrong = replace(catalog.topic("songs"), fields=(replace(catalog.topic("songs").fields[0], pattern="[a-z"),))
    broken = replace(own, topics={Name("songs"): replace(wrong, rules=())})
    assert ("view", "plays") not in spark_check(spark, broken).passed
