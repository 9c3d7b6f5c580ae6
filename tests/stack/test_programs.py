"""Every program on real servers: speed alone, Lambda at several cuts, batch alone and Kappa, as the oracle says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import chain, pairwise
from pathlib import Path
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

from core.catalog import Catalog
from core.generator import Trades, trades
from core.ident import Name, joined, quoted
from core.made import Made, records
from core.view import View
from flows import speed
from infra import control, definitions, kafka, roles, runs, trino
from infra.definitions import OWN
from infra.input_files import Record as Sent
from infra.local import stack
from infra.producer import produce
from infra.settings import Settings
from tests.conftest import fresh_settings
from tests.faults.compare import ends, same
from tests.faults.pieces import in_order
from tests.programs import oracle
from tests.programs.decode import events
from tests.support.command import Done, here, write_config
from tests.support.log import Log
from tests.support.waiting import eventually

START = 1_763_683_200_000
MADE = ("lines", "orders", "page_views", "payments", "preferences", "profiles", "purchases", "readings", "searches")
TOPICS = (*MADE, "trades", "access_log")
NEVER_AGAIN = "purchases_by_processing_time"


@dataclass
class Shop:
    """An instance that serves the programs, with its log."""

    settings: Settings
    config: Path
    catalog: Catalog
    log: Log
    sent: int = 0

    def send(self, count: int) -> None:
        """The next ``count`` records of every topic: late ones, repeated, bad and without partner among them."""
        for topic in map(self.catalog.topic, MADE):
            spec = Made(7, START, 2.0, 0.1, 7_200_000, 0.1, duplicate=0.05, unmatched=0.1, bad=0.02)
            made = (Sent(one.key, one.value, one.at) for one in records(topic, spec, count, self.sent))
            produce(self.settings, topic, made, draw=False).insist()
        traded = Trades(7, START, 2.0, late=0.1, late_by=7_200_000, out_of_order=0.1)
        sold = (Sent(one.key, one.value) for one in trades(traded, count, self.sent))
        produce(self.settings, self.catalog.topic("trades"), sold, draw=False).insist()
        produce(
            self.settings, self.catalog.topic("access_log"), map(_request, self._numbers(count)), draw=False
        ).insist()
        self.sent += count
        self.log.read()

    def _numbers(self, count: int) -> range:
        return range(self.sent, self.sent + count)

    def here(self, *words: str) -> Done:
        return here(self.config, *words)

    def settle(self, run: Name) -> None:
        """Waits until a run has committed all of the log."""

        def caught_up() -> None:
            last = runs.last_epoch(self.settings, run)
            assert last
            assert last.end == kafka.ends(self.settings, TOPICS)

        eventually(self.settings, 180, caught_up)

    def rows(self, table: str, view: View) -> list[oracle.Row]:
        """Keys and measures, or keys and results, as Trino gives them."""
        names = [column.name for column in view.stored_columns if not column.name.startswith("_")]
        listed = ", ".join(f'"{name}"' for name in names)
        return in_order(trino.query(self.settings, f"SELECT {listed} FROM {table}").rows)

    def check(self) -> None:
        """Every view that the log alone explains shows what the oracle makes of the whole log."""
        whole = events(self.log.records)
        for name in map(Name, (*oracle.ROLLUPS, *oracle.KEYED)):
            view = self.catalog.view(name)
            wanted = shown(name, oracle.rows(name, whole))
            same(f"serving.{name}", self.rows(quoted("lake", "serving", name), view), in_order(wanted))

    def check_build(self) -> None:
        """The tables of the newest build hold what the oracle makes of the log below its cut."""
        claim = control.claims(self.settings)[-1]
        below = events(self.log.below(ends(claim.cut)))
        for name in map(Name, (*oracle.ROLLUPS, *oracle.KEYED)):
            table = quoted("lake", "batch", joined(name, claim.build))
            same(f"batch.{name}", self.rows(table, self.catalog.view(name)), in_order(oracle.rows(name, below)))


def shown(name: str, rows: list[oracle.Row]) -> list[oracle.Row]:
    """What people see of stored rows: the ten most traded of an hour, profiles that are there."""
    if name in ("profiles_now", "preferences_now"):
        return [row for row in rows if row[-1] is False]
    if name == "top_ten":
        hours: dict[Any, list[oracle.Row]] = {}
        for row in sorted(rows, key=lambda row: (-row[3], row[0])):
            hours.setdefault(row[1], []).append(row)
        return list(chain.from_iterable(inside[:10] for inside in hours.values()))
    return rows


def _request(number: int) -> Sent:
    minute = (number * 37) % 1_440 + (1_440 if number % 10 == 0 else 0)
    at = f"{1 + minute // 1_440:02d}/Nov/2025:{minute // 60 % 24:02d}:{minute % 60:02d}:00 +0000"
    size = "-" if number % 5 == 0 else str(number)
    return Sent(None, f'10.0.0.{number % 7} - - [{at}] "GET / HTTP/1.1" 200 {size} "-" "-"'.encode())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("programs")
    settings = fresh_settings(folder / "data").model_copy(update={"views": (OWN / "programs",), "fold_behind": 2})
    values: dict[str, Any] = {n: getattr(settings, n) for n in ("kafka_port", "kafka_controller_port", "trino_port")}
    values |= {"data": str(settings.data), "views": [str(OWN / "programs")], "fold_behind": 2}
    config = write_config(folder / "lk.toml", values)
    stack.up(settings)
    try:
        made = Shop(settings, config, definitions.load(settings), Log(settings, TOPICS))
        yield made
    finally:
        made.here("speed", "stop")
        stack.down(settings)


def run_of(shop: Shop) -> Name:
    run = roles.current(shop.settings)
    assert run
    return run


def test_from_speed_alone_every_program_shows_what_the_oracle_says(shop: Shop) -> None:
    shop.send(400)
    speed.start(shop.settings, shop.catalog)
    shop.settle(run_of(shop))
    shop.check()


def test_in_lambda_at_several_cuts_every_program_shows_what_the_oracle_says(shop: Shop) -> None:
    """Events that join, sessions and deletes lie on both sides of each cut, as they come late.

    The second cut is where a new run begins, which must know what came before.
    """
    before = run_of(shop)
    for words in ((), ("speed", "start", "--new", "--json")):
        shop.here("batch", "--json").ok()
        shop.check_build()
        if words:
            shop.here(*words).ok()
        shop.send(200)
        shop.settle(run_of(shop))
        shop.check()
    assert run_of(shop) != before


def compact(shop: Shop) -> None:
    """Makes the broker compact what is there of the preferences, and waits until it has."""
    settings = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.001", "max.compaction.lag.ms": "1000"}
    entries = [ConfigEntry(n, v, incremental_operation=AlterConfigOpType.SET) for n, v in settings.items()]
    resource = ConfigResource(ResourceType.TOPIC, "preferences", incremental_configs=entries)
    kafka.admin(shop.settings).incremental_alter_configs([resource])[resource].result(30)
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


def test_a_compacted_topic_feeds_the_latest_of_each_key(shop: Shop) -> None:
    """Read before it was compacted, and read afterwards by a replay: the next test proves them equal."""
    compact(shop)
    shop.settle(run_of(shop))
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []


def test_in_kappa_every_program_shows_what_the_oracle_says(shop: Shop) -> None:
    plan = shop.here("switch", "kappa", "--plan", "--json").ok().json
    assert list(plan["unswitched"]) == [NEVER_AGAIN]
    done = shop.here("switch", "kappa", "--json").ok().json
    assert sorted(one["view"] for one in done["comparisons"]) == sorted(shop.catalog.reproducible)
    assert {one["equal"] for one in done["comparisons"]} == {True}
    shop.check()
    shop.send(200)
    shop.settle(run_of(shop))
    shop.check()
    assert shop.here("status", "--json").json["unhealthy"] == []


def test_one_key_is_answered(shop: Shop) -> None:
    """`lk get` gives the rows of one key, of both kinds of view."""
    whole = events(shop.log.records)
    for name, key in (("order_payments", "o7"), ("readings_by_hour", "d3")):
        view = shop.catalog.view(name)
        columns = [c.name for c in view.stored_columns if not c.name.startswith("_")]
        found = shop.here("get", name, key, "--json").ok().json
        wanted = [row for row in oracle.rows(name, whole) if row[0] == key]
        assert wanted
        assert len(found) == len(wanted)
        assert {row[columns[0]] for row in found} == {key}
    refused = shop.here("get", "order_payments")
    assert (refused.code, "0 values for the keys of order_payments" in refused.err) == (2, True)


def test_presentation_of_the_programs(shop: Shop) -> None:
    """Averages are of exact sums, and places are given from the largest volume on."""
    found = trino.query(shop.settings, "SELECT ticker, day, price_avg_week FROM lake.serving.trades_week").rows
    days = oracle.rows("trades_week", events(shop.log.records))
    wanted = []
    for ticker, day, *_ in days:
        week = [row for row in days if row[0] == ticker and 0 <= (day - row[1]).days <= 6]
        mean = sum((row[3] for row in week), Decimal(0)) / sum(row[2] for row in week)
        wanted.append((ticker, day, mean.quantize(Decimal("0.000001"), ROUND_HALF_UP)))
    assert in_order(found) == in_order(wanted)
    places = trino.query(
        shop.settings, "SELECT hour, place, ticker, volume FROM lake.serving.top_ten ORDER BY 1, 2"
    ).rows
    assert places
    for before, after in pairwise(places):
        if before[0] == after[0]:
            assert after[1] == before[1] + 1
            assert (-before[3], before[2]) < (-after[3], after[2])


def test_time_of_processing_is_not_switched(shop: Shop) -> None:
    pins = control.publications(shop.settings)[-1].pins
    assert pins[Name(NEVER_AGAIN)].mode == "speed"
    assert {pin.mode for view, pin in pins.items() if view != NEVER_AGAIN} == {"kappa"}
    (total,) = trino.query(shop.settings, f"SELECT sum(reports) FROM lake.serving.{NEVER_AGAIN}").rows[0]
    assert total == len([e for e in events(shop.log.records) if e["topic"] == "purchases"])
