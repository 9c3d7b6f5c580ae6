"""Replays of a truncated log: from the archive, or refused. With real processes: scenarios/restore."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from core.errors import Refused
from infra.control.manifest import last_epoch
from infra.kafka import kafka_admin
from infra.settings import Settings
from speed import replay_state
from tests.support.faults.crashes import crash_at
from tests.support.instances.layers import POISON, built, catalog_of, expected_rows, log, send, topic_of
from tests.support.instances.speed_runs import catch_up, running, served
from tests.support.records.topics import truncate


def test_a_truncated_log_is_refused_or_replayed_from_the_archive(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "short", "trades_by")
    topic = topic_of(catalog)
    send(stack, catalog, 300, 0, POISON)
    built(spark, stack, catalog)
    send(stack, catalog, 100, 300)
    records = log(stack, topic)
    truncate(stack, topic, 2, 20)
    with pytest.raises(Refused, match=f"no longer in the log: {topic}, partition 2, offsets 0 to 19"):
        replay_state.declare(stack, catalog)
    run = replay_state.declare(stack, catalog, from_archive=True)
    for step in ("replay.1_before_prefix", "replay.1_before_prefix_manifest"):
        with crash_at(stack, step):
            catch_up(stack, spark, catalog, run)
    with running(stack, spark, catalog, run) as (query, _):
        query.processAllAvailable()
        for view in run.views:
            assert served(stack, catalog, run, view) == expected_rows(view, "short", records)
    last = last_epoch(stack, run.id)
    assert last
    assert last.end == kafka_admin.end_offsets(stack, [topic])
