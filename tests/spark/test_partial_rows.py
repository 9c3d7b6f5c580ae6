"""Features of views that the shipped four do not use: filter, explode, First, several sources, null keys."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.compute.partial_rows import combine, partial, record_counts
from core.decoding.decode import decode
from core.measures import Count, First, Latest, Max, Min, Sum
from core.topic import Field, Json, Topic, Version
from core.view import Explode, Key, Rollup, Window
from tests.support.oracle.view_oracle import Record, moment
from tests.support.records.frames import dicts, from_kafka
from views.programs import preferences, preferences_now

T0 = 1_763_712_000_000


def topic(name: str) -> Topic:
    fields = (
        Field("at", "timestamp"),
        Field("who", required=False),
        Field("tags", required=False),
        Field("n", "bigint", required=False),
    )
    return Topic(name, Json((Version(1, ("at", "who", "tags", "n")),)), fields, event_time="at")


def record(name: str, partition: int, offset: int, at: int, **values: Any) -> Record:
    return Record(name, partition, offset, T0, None, json.dumps({"at": T0 + at} | values).encode())


TAGS = Rollup(
    "tags",
    ("posts",),
    keys=(Key("tag", "tag"),),
    measures=(Count("posts"), Count("liked", "n > 0"), Sum("likes", "n"), Min("first_by", "who", type="string")),
    explode=Explode("tag", "split(tags, ',')"),
    where="tag <> '' and n is not null",
)
SEEN = Rollup(
    "seen",
    ("posts", "pages"),
    keys=(Key("who", "who"),),
    measures=(
        First("first", "n", type="bigint"),
        Latest("last", "n", type="bigint"),
        Max("highest", "n"),
        Latest("tags", "tags"),
    ),
    window=Window("start", 2_000, 1_000),
)


def test_filter_and_explode(spark: SparkSession) -> None:
    log = [
        record("posts", 0, 0, 0, tags="a,b,,a", who="x", n=2),
        record("posts", 0, 1, 0, tags="b", who="é", n=0),
        record("posts", 0, 2, 0, tags="b", who="a"),
        record("posts", 0, 3, 0, who="x", n=1),
        record("posts", 0, 4, 0, tags="", who="x", n=1),
        Record("posts", 0, 5, T0, None, b"poison"),
    ]
    frame = decode(topic("posts"), from_kafka(spark, log))
    rows = sorted(dicts(partial(TAGS, topic("posts"), frame)), key=lambda row: row["tag"])
    assert rows == [
        {"tag": "a", "posts": 2, "liked": 2, "likes": 4, "first_by": "x", "_rows": 2},
        {"tag": "b", "posts": 2, "liked": 1, "likes": 2, "first_by": "x", "_rows": 2},
    ]
    [counted] = dicts(record_counts([TAGS], frame))
    assert (counted["decoded"], counted["quarantined"], counted["rows_tags"]) == (5, 1, 4)


def test_several_sources_and_ties(spark: SparkSession) -> None:
    """Equal event times are ordered by topic, partition and offset. A null key is a key; null values count."""
    posts = [
        record("posts", 1, 0, 500, who="x", n=1),
        record("posts", 0, 10, 500, who="x", n=2, tags="t"),
        record("posts", 0, 9, 500, who="x", n=3),
        record("posts", 0, 11, 400, n=7),
    ]
    pages = [record("pages", 2, 99, 500, who="x", n=4), record("pages", 2, 100, 1_600)]
    parts = [
        partial(SEEN, topic(name), decode(topic(name), from_kafka(spark, log)))
        for name, log in (("posts", posts), ("pages", pages))
    ]
    rows = dicts(combine(SEEN, parts[0].unionAll(parts[1])))
    visible = {
        (row["who"], row["start"]): (row["first"], row["last"], row["highest"], row["tags"], row["_rows"])
        for row in rows
    }
    assert visible == {
        ("x", moment(T0 - 1_000)): (4, 1, 4, None, 4),
        ("x", moment(T0)): (4, 1, 4, None, 4),
        (None, moment(T0 - 1_000)): (7, 7, 7, None, 1),
        (None, moment(T0)): (7, None, 7, None, 2),
        (None, moment(T0 + 1_000)): (None, None, None, None, 1),
    }
    assert len(rows) == 5
    [at] = [row["_last_at"] for row in rows if row["who"] == "x" and row["start"] == moment(T0)]
    assert at == {"event_time": moment(T0 + 500), "_topic": "posts", "_partition": 1, "_offset": 0}


def test_the_last_event_is_found_across_blocks_of_offsets(spark: SparkSession) -> None:
    """Events of one time are ordered by the whole offset, not by its lower bits."""
    last = Rollup(
        "last", ("posts",), keys=(), measures=(First("first", "n", type="bigint"), Latest("last", "n", type="bigint"))
    )
    block = 2**20
    offsets = [block - 1, block, 5 * block + 7, 3 * block + 9, 2**40 + 1]
    log = [record("posts", 0, offset, 500, n=offset) for offset in offsets]
    [row] = dicts(partial(last, topic("posts"), decode(topic("posts"), from_kafka(spark, log))))
    assert (row["first"], row["last"], row["_rows"]) == (block - 1, 2**40 + 1, 5)
    assert (row["_first_at"]["_offset"], row["_last_at"]["_offset"]) == (block - 1, 2**40 + 1)
    assert row["_last_at"]["event_time"] == moment(T0 + 500)


def test_rows_of_one_event_are_ordered_by_their_position_in_it(spark: SparkSession) -> None:
    """First and Latest take the first and the last element of an exploded event, in any order that Spark reads."""
    words = Rollup(
        "words",
        ("posts",),
        keys=(Key("who", "who"),),
        measures=(First("first", "word"), Latest("last", "word")),
        explode=Explode("word", "split(tags, ',')"),
    )
    log = [record("posts", 0, 0, 0, who="x", tags="b,c,a"), record("posts", 0, 1, 0, who="x", tags="e,f,d")]
    [row] = dicts(partial(words, topic("posts"), decode(topic("posts"), from_kafka(spark, log))))
    assert (row["first"], row["last"], row["_rows"]) == ("b", "d", 6)


def test_of_a_compacted_topic_the_last_record_of_the_log_counts(spark: SparkSession) -> None:
    """The clock of the broker stepped back before offset 1, and compaction removes offset 0."""
    view, name = preferences_now.VIEW, preferences.TOPIC.name
    later, last = (
        Record(name, 0, offset, T0 + at, b"u1", b'{"user_id":"u1","theme":"%s"}' % theme)
        for offset, at, theme in ((0, 9_000, b"dark"), (1, 3_000, b"light"))
    )
    events = decode(preferences.TOPIC, from_kafka(spark, [later, last]))
    offsets = [events.where(f"_offset = {offset}") for offset in (0, 1)]
    first_epoch, second_epoch = (partial(view, preferences.TOPIC, epoch) for epoch in offsets)
    ways = (partial(view, preferences.TOPIC, events), combine(view, second_epoch.unionAll(first_epoch)), second_epoch)
    assert [[(row["user_id"], row["theme"]) for row in dicts(way)] for way in ways] == [[("u1", "light")]] * 3


def test_a_window_of_thirty_days_that_hops_a_day_reaches_thirty_days_back(spark: SparkSession) -> None:
    """29 days are more milliseconds than an int holds."""
    day = 86_400_000
    view = Rollup("monthly", ("posts",), (Key("who", "who"),), (Count("n"),), window=Window("start", 30 * day, day))
    rows = dicts(partial(view, topic("posts"), decode(topic("posts"), from_kafka(spark, [record("posts", 0, 0, 0)]))))
    first = T0 - T0 % day
    assert sorted(row["start"] for row in rows) == [moment(first - back * day) for back in range(29, -1, -1)]


@pytest.mark.parametrize("explode", [None, TAGS.explode])
def test_a_comment_at_the_end_of_an_expression_changes_no_count(spark: SparkSession, explode: Explode | None) -> None:
    frame = decode(
        topic("posts"), from_kafka(spark, [record("posts", 0, 0, 0, tags="a", n=2), record("posts", 0, 1, 0)])
    )
    view = replace(TAGS, explode=explode, keys=(Key("who", "who"),), where="n is not null")
    texts = replace(view, where="n is not null -- or tag", explode=explode and Explode("tag", f"{explode.expr} -- all"))
    assert dicts(record_counts([texts], frame)) == dicts(record_counts([view], frame))
    assert dicts(partial(texts, topic("posts"), frame)) == dicts(partial(view, topic("posts"), frame))
