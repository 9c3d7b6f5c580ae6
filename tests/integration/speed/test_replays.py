"""Replays equal the oracle for any epoch size and any number of partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from infra.control.manifest import read_epochs
from infra.kafka import kafka_admin, topic_admin
from infra.settings import Settings
from speed import job
from speed.epoch import compute_epoch
from speed.process import lifecycle
from tests.support.instances.layers import POISON, catalog_of, send, topic_of
from tests.support.instances.speed_runs import catch_up, check
from tests.support.suite.tiers import slow


def replayed(settings: Settings, spark: SparkSession, catalog: Catalog, size: int) -> list[int]:
    """Runs a replay and compares it with the oracle. Returns the sizes of its epochs."""
    run = lifecycle.declare(settings, catalog, kind="replay", note="test")
    catch_up(settings.model_copy(update={"replay_offsets_per_trigger": size}), spark, catalog, run)
    check(settings, catalog, run, str(topic_of(catalog)).removesuffix("_trades"))
    return [epoch.end.size_since(epoch.start) for epoch in read_epochs(settings, run.id)]


@pytest.mark.parametrize("partitions", [4, *slow(1, 7)])
def test_replays_of_any_epochs_and_partitions_are_what_plain_python_gives(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    """The log has late, out-of-order, invalid and repeated records. Spark computes and writes the last replay."""
    base = catalog_of(stack, f"split{partitions}", "trades_by")
    (topic,) = base.topics
    catalog = Catalog({topic: replace(base.topics[topic], partitions=partitions)}, base.views)
    topic_admin.create_topics(stack, catalog)
    for first in (0, 150, 0):
        send(stack, catalog, 150, first, POISON)
    total = 3 * (150 + len(POISON))
    sizes = [replayed(stack, spark, catalog, 100)]
    for limit in ("SMALL", "COLLECTED", "_FEW_BAD"):
        monkeypatch.setattr(compute_epoch, limit, 0)
    sizes.append(replayed(stack, spark, catalog, 250))
    assert [sum(size) for size in sizes] == [total] * 2
    assert [len(size) for size in sizes] == [5, 2]


@pytest.mark.slow
def test_a_big_epoch_fetches_each_record_once(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Spark's count of its tasks' input records. Each cached block counts as one record."""
    spark.range(1).count()  # so that a stage exists before the replay
    monkeypatch.setattr(compute_epoch, "SMALL", 0)
    once, twice = (catalog_of(stack, prefix) for prefix in ("once", "twice"))
    for catalog in (once, twice):
        send(stack, catalog, 2_000)
    combined = Catalog({**once.topics, **twice.topics}, {**once.views, **twice.views})
    run = lifecycle.declare(stack, combined, kind="replay", note="test")
    before = max(stage.stageId() for stage in stages(spark))
    catch_up(stack, spark, combined, run)
    records_read = sum(stage.inputRecords() for stage in stages(spark) if stage.stageId() > before)
    assert [sum(count.records for count in epoch.counted.values()) for epoch in read_epochs(stack, run.id)] == [4_000]
    assert 4_000 <= records_read < 4_100


def stages(spark: SparkSession) -> list[Any]:
    """The newest stages of the session, from the status store of Spark's web UI."""
    sc: Any = spark.sparkContext
    quantiles = sc._gateway.new_array(sc._jvm.double, 0)
    stage_list = sc._jsc.sc().statusStore().stageList(None, False, False, quantiles, sc._jvm.java.util.ArrayList())
    return [stage_list.apply(n) for n in range(stage_list.size())]


@pytest.mark.slow
def test_a_replay_is_a_group_of_its_own_and_its_id_is_never_used_again(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "named")
    send(stack, catalog, 50)
    run = lifecycle.declare(stack, catalog, kind="replay", note="test")
    catch_up(stack, spark, catalog, run)
    assert run.id in kafka_admin.consumer_groups(stack)
    assert kafka_admin.committed_offsets(stack, run.id, run.topics) == kafka_admin.end_offsets(stack, run.topics)
    with pytest.raises(Refused, match="was used before"):
        lifecycle.declare(stack, catalog, id=run.id, kind="replay", note="test")
    with (
        job.driving(spark, stack, catalog, run),
        pytest.raises(TryAgain, match="is held"),
        job.driving(spark, stack, catalog, run),
    ):
        pass
    assert run.start == Cut()
