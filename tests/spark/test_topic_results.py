"""Big epochs cache the columns that views name, however the views write them; they give what small ones give."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from core.decoding.decode import decode
from core.measures import Count
from core.topic import Field, Json, Topic, Version
from core.view import Key, Keyed, Result, Rollup, View
from speed.epoch.topic_results import results_of_cached, results_of_topic, rows_to_cache
from tests.support.oracle.view_oracle import Record
from tests.support.records.frames import dicts, from_kafka

T0 = 1_763_712_000_000
PLAYS = Topic(
    "plays",
    Json((Version(1, ("at", "artist", "price", "n")),)),
    (Field("at", "timestamp"), Field("artist"), Field("price", "decimal(6,2)"), Field("n", "bigint")),
    event_time="at",
)
ARTIST, COUNT = (Key("artist", "artist"),), (Count("plays"),)
QUERY = "SELECT artist,\nprice AS dearest FROM plays WHERE\tN > 1"
VIEWS: dict[str, View] = {
    "after a line end": Rollup("dear", ("plays",), ARTIST, COUNT, where="\nprice > 5\nand n > 1"),
    "after a tab": Rollup("dear", ("plays",), ARTIST, COUNT, where="\tprice > 5 and\tn > 1"),
    "in capitals": Rollup("dear", ("plays",), ARTIST, COUNT, where="PRICE > 5 AND N > 1"),
    "in a query": Keyed("dear", ("plays",), ARTIST, query=QUERY, results=(Result("dearest", "decimal(6,2)"),)),
}


def record(offset: int, price: str) -> Record:
    value = {"at": T0 + offset, "artist": "a", "price": price, "n": 2}
    return Record("plays", 0, offset, T0, None, json.dumps(value).encode())


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_big_epoch_gives_what_a_small_one_gives(spark: SparkSession, view: View) -> None:
    events = decode(PLAYS, from_kafka(spark, [record(0, "1.00"), record(1, "9.00")]))
    small = {result.part: dicts(result.frame) for result in results_of_topic(PLAYS, [view], events)}
    cached = results_of_cached(PLAYS, [view], rows_to_cache(PLAYS, [view], events))
    big = {result.part: dicts(result.frame) for result in cached}
    assert big[view.name] == small[view.name] != []
    assert [row["rows_dear"] for row in big["_counts"]] == [row["rows_dear"] for row in small["_counts"]]
