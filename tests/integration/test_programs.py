"""A replay of a join on real servers. scenarios/programs has every program, in both modes."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from core.compute.merge_sql import serving_sql, speed_part
from core.identifiers import Name, joined, quoted
from infra.definitions import definition_files
from infra.lake import table_paths
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.trino import metastore
from speed.process import lifecycle
from tests.support.checks.assertions import same
from tests.support.faults.crashes import crash_at
from tests.support.instances.programs_stack import TOPICS, ProgramsStack
from tests.support.instances.speed_runs import catch_up
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.records.kafka_log import Log
from tests.support.records.pieces import in_order

PROGRAM = Name("order_payments")


def test_a_replay_of_a_join_that_crashed_shows_what_the_oracle_says(
    stack: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    """It crashes between the events that the view keeps and its rows. Joined events lie in two epochs."""
    settings = stack.model_copy(update={"views": (VIEWS / "programs",)})
    all_programs = definition_files.load(settings)
    catalog, shop = all_programs.only([PROGRAM]), ProgramsStack(settings, tmp_path, all_programs, Log(settings, TOPICS))
    view = catalog.view(PROGRAM)
    replay = lifecycle.declare(settings, catalog, kind="replay", note="test")
    table = joined(PROGRAM, replay.id)
    for count, crash in ((400, False), (200, True)):
        shop.send(count)
        if crash:
            with crash_at(settings, "speed.3_before_units"):
                catch_up(settings, spark, catalog, replay)
        catch_up(settings, spark, catalog, replay)
        path = table_paths.speed(settings, replay.id, PROGRAM)
        metastore.register(settings, "speed", table, table_paths.relative(settings, path))
        sql = serving_sql(view, [speed_part(view, quoted("lake", "speed", table), -3)])
        same(PROGRAM, shop.rows(f"({sql})", view), in_order(program_oracle.rows(PROGRAM, events(shop.log.records))))
