"""Every program on real servers: speed alone, Lambda at several cuts, batch alone and Kappa, as the oracle says."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from pyspark.sql import SparkSession

from core.identifiers import Name
from flows import speed
from infra.control.publications import read_publications
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.local import local_stack
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.trino import metastore
from tests.conftest import fresh_settings
from tests.support.command import write_config
from tests.support.crossing_cuts import crossing
from tests.support.kafka_log import Log
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.pieces import in_order
from tests.support.programs_stack import TOPICS, ProgramsStack
from tests.support.waiting import eventually

NEVER_AGAIN = "purchases_by_processing_time"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[ProgramsStack]:
    folder = tmp_path_factory.mktemp("programs")
    settings = fresh_settings(folder / "data").model_copy(update={"views": (VIEWS / "programs",), "fold_behind": 2})
    values: dict[str, Any] = {n: getattr(settings, n) for n in ("kafka_port", "kafka_controller_port", "trino_port")}
    values |= {"data": str(settings.data), "views": [str(VIEWS / "programs")], "fold_behind": 2}
    config = write_config(folder / "lk.toml", values)
    local_stack.start_servers(settings)
    try:
        yield ProgramsStack(settings, config, definition_files.load(settings), Log(settings, TOPICS))
    finally:
        local_stack.stop_servers(settings)


def test_from_speed_alone_every_program_shows_what_the_oracle_says(shop: ProgramsStack) -> None:
    shop.send(400)
    speed.start(shop.settings, shop.catalog)
    shop.settle()
    shop.check()


def test_in_lambda_at_several_cuts_every_program_shows_what_the_oracle_says(shop: ProgramsStack) -> None:
    """Events that join, sessions and deletes lie on both sides of each cut, as they come late.

    The second cut is where a new run begins, which must know what came before.
    """
    before = shop.run
    for words in ((), ("speed", "start", "--new", "--json")):
        shop.here("batch", "--json").ok()
        shop.check_build()
        if words:
            shop.here(*words).ok()
        shop.send(200)
        shop.settle()
        shop.check()
        assert crossing(events(shop.log.records), shop.below()) == {"join", "session", "delete"}
    assert shop.run != before


def compact(shop: ProgramsStack) -> None:
    """Makes the broker compact what is there of the preferences, and waits until it has."""
    settings = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.001", "max.compaction.lag.ms": "1000"}
    entries = [ConfigEntry(n, v, incremental_operation=AlterConfigOpType.SET) for n, v in settings.items()]
    resource = ConfigResource(ResourceType.TOPIC, "preferences", incremental_configs=entries)
    kafka_admin.admin_client(shop.settings).incremental_alter_configs([resource])[resource].result(30)
    shop.send(20)  # the segments before end with these

    def gaps() -> None:
        assert _first(shop.settings, "preferences") > 0

    eventually(shop.settings, 120, gaps)


def _first(settings: Settings, topic: str) -> int:
    """The offset of the first record that a consumer of partition 0 still gets."""
    consumer = Consumer({"bootstrap.servers": settings.bootstrap_servers, "group.id": "first", "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(30)
        assert message
        offset = message.offset()
        assert offset is not None
        return offset
    finally:
        consumer.close()


def test_a_compacted_topic_feeds_the_latest_of_each_key(shop: ProgramsStack) -> None:
    """Read before it was compacted, and read afterwards by a replay: the next test proves them equal."""
    compact(shop)
    shop.settle()
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []


def test_in_kappa_every_program_shows_what_the_oracle_says(shop: ProgramsStack) -> None:
    plan = shop.here("switch", "kappa", "--plan", "--json").ok().json
    assert list(plan["unswitched"]) == [NEVER_AGAIN]
    done = shop.here("switch", "kappa", "--json").ok().json
    assert sorted(one["view"] for one in done["comparisons"]) == sorted(shop.catalog.reproducible)
    assert {one["equal"] for one in done["comparisons"]} == {True}
    shop.check()
    shop.send(200)
    shop.settle()
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []


def test_one_key_is_answered(shop: ProgramsStack) -> None:
    """`lk get` gives the rows of one key, of both kinds of view."""
    whole = events(shop.log.records)
    for name, key in (("order_payments", "o7"), ("readings_by_hour", "d3")):
        view = shop.catalog.view(name)
        columns = [c.name for c in view.stored_columns if not c.name.startswith("_")]
        found = shop.here("get", name, key, "--json").ok().json
        wanted = [row for row in program_oracle.rows(name, whole) if row[0] == key]
        assert wanted
        assert len(found) == len(wanted)
        assert {row[columns[0]] for row in found} == {key}
    refused = shop.here("get", "order_payments")
    assert (refused.code, "0 values for the keys of order_payments" in refused.err) == (2, True)


def test_presentation_of_the_programs(shop: ProgramsStack) -> None:
    """Averages are of exact sums, and places are given from the largest volume on."""
    found = metastore.query(shop.settings, "SELECT ticker, day, price_avg_week FROM lake.serving.trades_week").rows
    days = program_oracle.rows("trades_week", events(shop.log.records))
    wanted = []
    for ticker, day, *_ in days:
        week = [row for row in days if row[0] == ticker and 0 <= (day - row[1]).days <= 6]
        mean = sum((row[3] for row in week), Decimal(0)) / sum(row[2] for row in week)
        wanted.append((ticker, day, mean.quantize(Decimal("0.000001"), ROUND_HALF_UP)))
    assert in_order(found) == in_order(wanted)
    places = metastore.query(
        shop.settings, "SELECT hour, place, ticker, volume FROM lake.serving.top_ten ORDER BY 1, 2"
    ).rows
    assert places
    for before, after in pairwise(places):
        if before[0] == after[0]:
            assert after[1] == before[1] + 1
            assert (-before[3], before[2]) < (-after[3], after[2])


def test_time_of_processing_is_not_switched(shop: ProgramsStack) -> None:
    pins = read_publications(shop.settings)[-1].pins
    assert pins[Name(NEVER_AGAIN)].mode == "speed"
    assert {pin.mode for view, pin in pins.items() if view != NEVER_AGAIN} == {"kappa"}
    (total,) = metastore.query(shop.settings, f"SELECT sum(reports) FROM lake.serving.{NEVER_AGAIN}").rows[0]
    assert total == len([e for e in events(shop.log.records) if e["topic"] == "purchases"])


def test_back_in_lambda_what_no_replay_gives_is_still_served(shop: ProgramsStack) -> None:
    """Its run is not retired before that, and is named with the view that it serves."""
    before = read_publications(shop.settings)[-1].pins[Name(NEVER_AGAIN)]
    assert before.run
    refused = shop.here("retire", before.run, "--final", "--json")
    assert (refused.code, NEVER_AGAIN in refused.json["error"]) == (1, True), refused.said
    shop.here("switch", "lambda", "--json").ok()
    pins = dict(read_publications(shop.settings)[-1].pins)
    assert pins.pop(Name(NEVER_AGAIN)) == before
    assert {pin.mode for pin in pins.values()} == {"lambda"}
    shop.send(100)
    shop.settle()
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []
