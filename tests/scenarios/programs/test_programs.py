"""Every program on real servers equals the oracle: speed alone, Lambda at several cuts, batch alone and Kappa."""

from __future__ import annotations

import contextlib
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

from core.errors import LkError
from core.identifiers import Name
from flows import speed
from infra import faults
from infra.control.publications import read_publications
from infra.definitions import definition_files
from infra.faults import MARKER, VARIABLE
from infra.kafka import admin_requests
from infra.local import local_stack
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.trino import metastore
from speed.process import lifecycle
from tests.conftest import fresh_settings
from tests.support.checks.crossing_cuts import crossing
from tests.support.command import write_config
from tests.support.instances.programs_stack import TOPICS, ProgramsStack
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.records.kafka_log import Log
from tests.support.records.pieces import in_order
from tests.support.waiting import eventually

NOT_REPRODUCIBLE = "purchases_by_processing_time"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[ProgramsStack]:
    folder = tmp_path_factory.mktemp("programs")
    settings = fresh_settings(folder / "data").model_copy(update={"views": (VIEWS / "programs",), "fold_behind": 2})
    config_values: dict[str, Any] = {
        n: getattr(settings, n) for n in ("kafka_port", "kafka_controller_port", "trino_port")
    }
    config_values |= {"data": str(settings.data), "views": [str(VIEWS / "programs")], "fold_behind": 2}
    config = write_config(folder / "lk.toml", config_values)
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
    """Joined events, sessions and deletes lie on both sides of each cut.

    A new run begins at the second cut. It must know the events before it.
    """
    run_before = shop.run
    for new_run_words in ((), ("speed", "start", "--new", "--json")):
        shop.here("batch", "--json").ok()
        shop.check_build()
        if new_run_words:
            shop.here(*new_run_words).ok()
        shop.send(200)
        shop.settle()
        shop.check()
        assert crossing(events(shop.log.records), shop.below()) == {"join", "session", "delete"}
    assert shop.run != run_before


def test_a_run_killed_between_the_events_and_the_rows_of_a_keyed_view_commits_both_once(shop: ProgramsStack) -> None:
    point = "speed.3_before_units"
    (shop.settings.data / MARKER).touch()
    assert speed.stop(shop.settings).phase == "stopped"
    shop.send(100)
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(LkError):
        patch.setenv(VARIABLE, f"{point}:kill")
        speed.start(shop.settings, shop.catalog)  # may see the end of the process already

    def died() -> None:
        assert faults.proof(shop.settings, point).is_file()
        assert lifecycle.status(shop.settings).phase == "died"

    eventually(shop.settings, 120, died)
    speed.start(shop.settings, shop.catalog)
    shop.settle()
    shop.check()


def compact_preferences(shop: ProgramsStack) -> None:
    """Makes the broker compact the topic `preferences` and waits for it."""
    topic_config = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.001", "max.compaction.lag.ms": "1000"}
    entries = [ConfigEntry(n, v, incremental_operation=AlterConfigOpType.SET) for n, v in topic_config.items()]
    resource = ConfigResource(ResourceType.TOPIC, "preferences", incremental_configs=entries)
    admin_requests.admin_client(shop.settings).incremental_alter_configs([resource])[resource].result(30)
    shop.send(20)  # these records close the older segments

    def old_segments_are_gone() -> None:
        assert _first_offset(shop.settings, "preferences") > 0

    eventually(shop.settings, 120, old_segments_are_gone)


def _first_offset(settings: Settings, topic: str) -> int:
    """The offset of the oldest record in partition 0."""
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
    """The run read it before the compaction. The next test replays it and compares."""
    compact_preferences(shop)
    shop.settle()
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []


def test_in_kappa_every_program_shows_what_the_oracle_says(shop: ProgramsStack) -> None:
    plan = shop.here("switch", "kappa", "--plan", "--json").ok().json
    assert list(plan["unswitched"]) == [NOT_REPRODUCIBLE]
    switched = shop.here("switch", "kappa", "--json").ok().json
    assert sorted(comparison["view"] for comparison in switched["comparisons"]) == sorted(shop.catalog.reproducible)
    assert {comparison["equal"] for comparison in switched["comparisons"]} == {True}
    shop.check()
    shop.send(200)
    shop.settle()
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []


def test_get_returns_the_rows_of_one_key(shop: ProgramsStack) -> None:
    """`lk get` returns the rows of one key, for a keyed and a windowed view."""
    all_events = events(shop.log.records)
    for name, key in (("order_payments", "o7"), ("readings_by_hour", "d3")):
        view = shop.catalog.view(name)
        columns = [c.name for c in view.stored_columns if not c.name.startswith("_")]
        rows = shop.here("get", name, key, "--json").ok().json
        expected_rows = [row for row in program_oracle.rows(name, all_events) if row[0] == key]
        assert expected_rows
        assert len(rows) == len(expected_rows)
        assert {row[columns[0]] for row in rows} == {key}
    refused = shop.here("get", "order_payments")
    assert (refused.code, "0 values for the keys of order_payments" in refused.err) == (2, True)


def test_served_averages_and_rankings_equal_the_oracle(shop: ProgramsStack) -> None:
    """Averages come from exact sums. Place 1 is the largest volume."""
    actual = metastore.query(shop.settings, "SELECT ticker, day, price_avg_week FROM lake.serving.trades_week").rows
    days = program_oracle.rows("trades_week", events(shop.log.records))
    expected = []
    for ticker, day, *_ in days:
        week = [row for row in days if row[0] == ticker and 0 <= (day - row[1]).days <= 6]
        average = sum((row[3] for row in week), Decimal(0)) / sum(row[2] for row in week)
        expected.append((ticker, day, average.quantize(Decimal("0.000001"), ROUND_HALF_UP)))
    assert in_order(actual) == in_order(expected)
    ranking = metastore.query(
        shop.settings, "SELECT hour, place, ticker, volume FROM lake.serving.top_ten ORDER BY 1, 2"
    ).rows
    assert ranking
    for higher, lower in pairwise(ranking):
        if higher[0] == lower[0]:
            assert lower[1] == higher[1] + 1
            assert (-higher[3], higher[2]) < (-lower[3], lower[2])


def test_a_view_of_processing_time_is_not_switched(shop: ProgramsStack) -> None:
    pins = read_publications(shop.settings)[-1].pins
    assert pins[Name(NOT_REPRODUCIBLE)].mode == "speed"
    assert {pin.mode for view, pin in pins.items() if view != NOT_REPRODUCIBLE} == {"kappa"}
    (total,) = metastore.query(shop.settings, f"SELECT sum(reports) FROM lake.serving.{NOT_REPRODUCIBLE}").rows[0]
    assert total == len([e for e in events(shop.log.records) if e["topic"] == "purchases"])


def test_back_in_lambda_a_view_that_is_not_reproducible_is_still_served(shop: ProgramsStack) -> None:
    """Its run cannot be retired. The error names the view."""
    pin_before = read_publications(shop.settings)[-1].pins[Name(NOT_REPRODUCIBLE)]
    assert pin_before.run
    refused = shop.here("retire", pin_before.run, "--final", "--json")
    assert (refused.code, NOT_REPRODUCIBLE in refused.json["error"]) == (1, True), refused.said
    shop.here("switch", "lambda", "--json").ok()
    pins = dict(read_publications(shop.settings)[-1].pins)
    assert pins.pop(Name(NOT_REPRODUCIBLE)) == pin_before
    assert {pin.mode for pin in pins.values()} == {"lambda"}
    shop.send(100)
    shop.settle()
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []
