"""A join on real servers: live, in Lambda at a cut, and replayed. scenarios/programs has every program.

The live run crashes once between the view's events and its rows.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name, quoted
from flows import switch
from flows.batch_cycle import run_batch
from infra.control.claims import read_claims
from infra.definitions import definition_files
from infra.project_files import VIEWS
from infra.settings import Settings
from serving.promote import serve_run
from speed.process import lifecycle
from tests.support.assertions import ends, same
from tests.support.crashes import crash_at
from tests.support.crossing_cuts import crossing
from tests.support.kafka_log import Log
from tests.support.layers import back_in_lambda
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.pieces import in_order
from tests.support.programs_stack import TOPICS, ProgramsStack
from tests.support.speed_runs import catch_up, running

PROGRAM = Name("order_payments")


def check(shop: ProgramsStack, catalog: Catalog) -> None:
    """Fails unless the view shows the oracle's rows of the whole log."""
    rows = shop.rows(quoted("lake", "serving", PROGRAM), catalog.view(PROGRAM))
    same(f"serving.{PROGRAM}", rows, in_order(program_oracle.rows(PROGRAM, events(shop.log.read()))))


def test_a_live_run_a_build_and_a_replay_show_what_the_oracle_says(
    stack: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    settings = stack.model_copy(update={"views": (VIEWS / "programs",)})
    all_programs = definition_files.load(settings)
    catalog, shop = all_programs.only([PROGRAM]), ProgramsStack(settings, tmp_path, all_programs, Log(settings, TOPICS))
    shop.send(400)
    live = lifecycle.declare(settings, catalog)
    catch_up(settings, spark, catalog, live)
    serve_run(settings, catalog, live.id, "test")
    check(shop, catalog)
    run_batch(settings, catalog)
    shop.send(200)
    with crash_at(settings, "speed.3_before_units"):
        catch_up(settings, spark, catalog, live)
    catch_up(settings, spark, catalog, live)
    check(shop, catalog)
    below = events(shop.log.below(ends(read_claims(settings)[-1].cut)))
    assert crossing(events(shop.log.records), below) >= {"join"}
    replay = lifecycle.declare(settings, catalog, kind="replay", note="test")
    with running(settings, spark, catalog, replay) as (query, _):
        query.processAllAvailable()
        switched = switch.to_kappa(settings, catalog, run=replay.id)
        assert [(comparison.view, comparison.equal) for comparison in switched.comparisons] == [(PROGRAM, True)]
        check(shop, catalog)
    back_in_lambda(settings, catalog)
