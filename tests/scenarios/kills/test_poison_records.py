"""Records that cannot be decoded are quarantined once, whole. Good records are not affected."""

from __future__ import annotations

import random
from itertools import chain

from pyspark.sql import SparkSession

from tests.support.instances.world import World
from tests.support.oracle import view_oracle
from tests.support.records.kafka_log import Sent
from tests.support.records.load import DAY_MS, NOON, millis, mixed, poison, trade


def interleave(bad: list[Sent], good: list[Sent]) -> list[Sent]:
    """Bad records among good ones."""
    return [*chain.from_iterable(zip(good, bad, strict=False)), *good[len(bad) :]]


def test_poison_of_every_kind_is_in_quarantine_once_and_good_records_are_not_affected(
    world: World, spark: SparkSession
) -> None:
    world.running()
    cases = poison()
    offsets_before = {(q.topic, q.partition, q.offset) for q in world.pieces.quarantined_by_speed(world.run)}
    world.send(interleave([sent for sent, _ in cases], mixed(seed=80, count=100)))
    world.settle()
    quarantined_records = [
        q
        for q in world.pieces.quarantined_by_speed(world.run)
        if (q.topic, q.partition, q.offset) not in offsets_before
    ]
    expected = [(record.topic, record.key, record.value, record.headers, rule) for record, rule in cases]
    actual = [(q.topic, q.key, q.value, q.headers, q.rule) for q in quarantined_records]
    assert sorted(actual, key=repr) == sorted(expected, key=repr)
    world.check()
    build = world.build(spark)
    assert world.here("publish", "--json").ok().json["pins"]["trade_stats"]["build"] == build
    quarantined_by_batch = [q for q in world.pieces.quarantined_by_batch() if q in quarantined_records]
    assert quarantined_by_batch == quarantined_records
    world.check()
    listed = world.here("quarantine", "list", "--limit", "10000", "--json").ok().json
    assert [(q["topic"], q["partition"], q["offset"], ",".join(q["rules"])) for q in listed] == [
        (topic, *row) for topic in ("access_log", "trades") for row in quarantined(world, topic)
    ]


def quarantined(world: World, topic: str) -> list[tuple[int, int, str]]:
    return view_oracle.quarantined([r for r in world.log.records if r.topic == topic])


def test_an_epoch_of_nothing_but_poison_is_an_epoch(world: World) -> None:
    world.running()
    world.settle()
    epoch_before = world.epoch
    world.send([sent for sent, rule in poison() if rule in ("not_json", "null_value")])
    world.settle()
    assert world.epoch > epoch_before
    world.check()


def test_events_late_by_days_are_in_their_windows_before_and_after_a_batch(world: World, spark: SparkSession) -> None:
    world.running()
    world.settle()
    days = (2, 30, 365, 15_000)
    rng = random.Random(81)
    world.send([trade(rng, n, millis(NOON) - day * DAY_MS) for n, day in enumerate(days)])
    world.settle()
    world.check()
    rows = world.here("show", "trades_by_day", "--json").ok().json
    assert sum(row["day"].startswith("1985-02-17") for row in rows) == 1
    world.build(spark)
    world.here("publish", "--json").ok()
    world.check()
