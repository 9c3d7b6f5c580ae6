"""Patterns that take exponential or cubic time are found; those of every day are not."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from core.route import Output, Route, When
from core.topic import Field, Lines, Rule
from infra.definitions.slow_patterns import pattern_mistakes, slow_text
from views import access_log, trades_by_day
from views.programs import service_log

SLOW = [
    r"(a+)+",
    r"(a*)*b",
    r"(a|a)*",
    r"(a|aa)+",
    r"([a-z]+)*\d",
    r"(\w+\s?)*:",
    r"x(?:[^,]+)*,",
    r"((\d+)+)+z",
    r"^(.*a){20,}$|(a+)+$",
    r"([a-zA-Z0-9._-]+)+@example",
    r"(\S+)+",
    r"(.+)+",
    r"([^,]+)+",
    r"(\D+)+",
    r"(\S+ ?)+",
    r"([^,]+,?)+",
    r"([^,]+,?,?)+",
    r"(?:\|?[^|]+)+",
    r"(?=(a+)+b)\w+",
    r"(?!(a+)+b)\w+",
    r"(?>(a+)+b)",
    r"(?:(a+)+b)*+",
    r"x(?:y|(?>(\w+ ?)+;))*+",
    r"(?:a|a){7}(?:a|a){7}(?:a|a){7}",
    r"(.*) (.*) (.*) (.*) (.*)x",
    r"(.*)(.*)(.*)(.*)=",
    r"\s*\s*\s*x",
]
FAST = [
    r"DEBUG|INFO|WARN|ERROR",
    r"[a-z]+",
    r"(\S+) (\S+) (\S+)",
    r"([^ ]*) ([^ ]*) \[([^\]]*)\] \"([^\"]*)\" (\d{3}) (\d+|-)",
    r"(?:\d{1,3}\.){3}\d{1,3}",
    r"(?:[a-z]+,)*[a-z]+",
    r"\d+(?:\.\d+)?",
    r"(?:ab)*c",
    r"\p{Alpha}+",
    r"a{1,1000}",
    r"(.*),(.*),(.*)",
    r".*error.*",
    r'(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (.*?) (\S+)" (\d{3}) (\S+) "(.*?)" "(.*?)"',
    r"(?:[^\"]|\\.)*+",
    r"(?>(a+)+)",
    r"(?:a++)*b",
    r"(?=\w+ )(\w+ ?)",
    r"(?:\[[^\]]*\] )*(?:\S+ )+-",
    r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}",
    r"",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_is_found_in_a_moment(pattern: str) -> None:
    began = time.process_time()
    assert slow_text(pattern)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", FAST)
def test_an_ordinary_pattern_passes_in_a_moment(pattern: str) -> None:
    began = time.process_time()
    assert slow_text(pattern) is None
    assert time.process_time() - began < 2


def test_the_patterns_that_ship_pass() -> None:
    assert isinstance(access_log.TOPIC.format, Lines)
    assert slow_text(access_log.TOPIC.format.pattern) is None
    assert [field.pattern and slow_text(field.pattern) for field in service_log.TOPIC.fields] == [None] * 3


@pytest.mark.parametrize(
    "sql",
    [
        "page RLIKE '(a+)+b'",
        r"page rlike '^(\\d+)+$'",
        r"regexp_extract(page, r'(\w+\s?)*:', 1)",
        "regexp_replace(page, \"([^,]+,?)+\", '') = ''",
        "size(split(page, '(a|aa)+')) > 3",
    ],
)
def test_a_slow_pattern_in_the_sql_of_a_view_a_rule_or_a_route_is_refused(sql: str) -> None:
    view = replace(trades_by_day.VIEW, where=sql)
    topic = replace(access_log.TOPIC, rules=(Rule("size_is_small", sql),))
    route = Route("copies", ("access_log",), (Output("copied", (When("access_log", sql),)),))
    for definition, kind in ((view, "Rollup"), (topic, "Rule"), (route, "When")):
        (mistake,) = pattern_mistakes(definition)
        assert mistake.kind == kind
        assert "the pattern takes exponential or cubic time" in mistake.text


@pytest.mark.parametrize(
    "where", ["host = '(a+)+'", r"page RLIKE '^/(images|js)/[^/]+\\.png$'", "page RLIKE 'unclosed", "host IS NULL"]
)
def test_ordinary_patterns_and_texts_of_sql_pass(where: str) -> None:
    assert list(pattern_mistakes(replace(trades_by_day.VIEW, where=where))) == []
    assert list(pattern_mistakes(replace(trades_by_day.VIEW, comment="RLIKE '(a+)+'"))) == []


def test_a_topic_with_a_slow_pattern_is_refused_with_a_text() -> None:
    slow = replace(access_log.TOPIC, format=Lines("(a+)+"), fields=(Field("a", pattern="(b|b)*"),))
    texts = [mistake.text for mistake in pattern_mistakes(slow)]
    assert len(texts) == 2
    assert all("aaaaaaaa" in text or "bbbbbbbb" in text for text in texts)
