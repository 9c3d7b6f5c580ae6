"""The fields that each column of a view comes from; what cannot be read from its SQL is unknown, not guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.identifiers import Name
from core.measures import Count, Sum
from core.topic import Topic
from core.view import Explode, Key, Keyed, Rollup, Shown, View
from infra.lineage.column_sources import Sources, served_sources, stored_sources
from views import access_log, trades, trades_by_day
from views.programs import lines, page_views, page_views_enriched, profiles, searches, sessions, word_count

TOPICS = [access_log, trades, lines, page_views, profiles, searches]


def sources(view: View) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    topics: dict[Name, Topic] = {Name(module.TOPIC.name): module.TOPIC for module in TOPICS}
    stored = stored_sources(view, topics)
    return {name: dotted(of) for name, of in stored.columns.items()}, stored.unknown


def dotted(of: Sources) -> list[str]:
    return sorted(".".join(pair) for pair in of)


def test_a_rollup_names_the_fields_of_its_expressions() -> None:
    columns, unknown = sources(trades_by_day.VIEW)
    assert unknown == ()
    assert columns == {
        "ticker": ["trades.ticker"],
        "day": ["trades.event_time"],
        "trades": [],
        "volume": ["trades.size"],
        "turnover": ["trades.price", "trades.size"],
        "price_low": ["trades.price"],
        "price_high": ["trades.price"],
        "price_last": ["trades.price"],
    }


def test_a_word_comes_from_the_exploded_line() -> None:
    assert sources(word_count.VIEW) == ({"word": ["lines.line"], "times": []}, ())


def test_a_keyed_view_is_followed_through_joins_and_subqueries() -> None:
    columns, unknown = sources(page_views_enriched.VIEW)
    assert unknown == ()
    assert columns == {
        "user_id": ["page_views.user_id"],
        "view_id": ["page_views.view_id"],
        "viewed_at": ["page_views.event_time"],
        "page": ["page_views.page"],
        "city": ["profiles.city"],
        "level": ["profiles.level"],
        "term": ["searches.term"],
        "searched_at": ["searches.event_time"],
    }
    assert sources(sessions.VIEW)[0]["bytes"] == ["access_log.bytes"]


def test_a_key_that_hides_a_field_comes_from_the_fields_of_its_expression() -> None:
    keys = (Key("path", "concat(client, cast(status as string))"),)
    view = Keyed("paths", ("access_log",), keys, (), "SELECT path FROM {access_log} GROUP BY path")
    assert sources(view) == ({"path": ["access_log.client", "access_log.status"]}, ())


@pytest.mark.parametrize("sql", ["no_such_field + 1", "size +", "struct_of.size"])
def test_an_expression_that_cannot_be_resolved_is_unknown(sql: str) -> None:
    view = Rollup("bad", ("trades",), (Key("ticker", "ticker"),), (Sum("total", sql), Count("trades")))
    assert sources(view) == ({"ticker": ["trades.ticker"], "trades": []}, ("total",))


def test_a_query_that_cannot_be_parsed_is_unknown() -> None:
    broken = replace(sessions.VIEW, query="SELECT client, FROM WHERE {access_log}")
    assert sources(broken) == ({}, ("bytes", "client", "ended_at", "requests", "started_at"))


def test_the_parameter_of_a_lambda_is_no_field() -> None:
    explode = Explode("word", "transform(split(line, ' '), w -> lower(w))")
    view = Rollup("words", ("lines",), (Key("word", "word"),), (Count("times"),), explode=explode)
    assert sources(view) == ({"word": ["lines.line"], "times": []}, ())


def test_what_readers_see_comes_from_each_table_and_a_shown_column_from_its_measures() -> None:
    shown = (Shown("price_mean", "turnover / volume"), Shown("odd", "no_such / 2"))
    served = served_sources(replace(trades_by_day.VIEW, shown=shown, only="volume > 3"), ["build", "run"])
    assert dotted(served.columns["ticker"]) == ["build.ticker", "run.ticker"]
    assert dotted(served.columns["price_mean"]) == ["build.turnover", "build.volume", "run.turnover", "run.volume"]
    assert dotted(served.filters) == ["build.volume", "run.volume"]
    assert served.unknown == ("odd",)
    assert "_rows" not in served.columns
