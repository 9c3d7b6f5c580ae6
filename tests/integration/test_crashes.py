"""A crash at every fault point of each commit protocol, raised in this process. Real kills: scenarios/kills."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from flows import replays, switch
from flows.batch_cycle import run_batch
from infra.control import comparisons, run_roles
from infra.control.claims import read_claims
from infra.control.manifest import read_epochs
from infra.control.runs import Run
from infra.kafka import kafka_admin
from infra.lake import delta, leases, table_paths
from infra.settings import Settings
from infra.trino import served_views
from speed.tables import fold, fold_ranges
from tests.support.faults.crashes import crash_at
from tests.support.instances.layers import (
    POISON,
    back_in_lambda,
    catalog_of,
    check_served,
    commit_epoch,
    in_lambda,
    send,
)
from tests.support.instances.speed_runs import catch_up, check, declared, running
from tests.support.records.pieces import Pieces

# Step of an epoch -> epochs that are committed after a crash there. Before the manifest it is the same epoch again.
EPOCH_STEPS = {
    "speed.0_before_epoch": 1,
    "speed.1_after_compute": 1,
    "speed.2_after_quarantine": 1,
    "speed.3_before_view": 1,
    "speed.4_before_manifest": 1,
    "speed.4_after_manifest": 2,
    "speed.5_after_group": 3,
    "speed.6_after_maintenance": 4,
}
BATCH_STEPS = (
    "batch.0_before_claim",
    "batch.0_after_claim",
    "batch.1_before_land",
    "batch.1_in_land",
    "batch.1_after_land",
    "batch.2_in_build:2",
    "batch.2_before_built",
    "batch.2_after_built",
    "batch.3_in_gate",
    "batch.3_before_passed",
)
PUBLISH_STEPS = (
    "serving.0_before_intent",
    "serving.0_after_intent",
    "serving.1_between_views:2",
    "serving.2_before_done",
    "serving.2_after_done",
)
PROOF_STEPS = ("replay.2_before_compare", "replay.2_in_compare:2", "replay.3_before_switch")


def parsed(step: str) -> tuple[str, int]:
    """``point[:hit]``."""
    point, _, hit = step.partition(":")
    return point, int(hit or 1)


def pins(settings: Settings, catalog: Catalog) -> dict[Name, tuple[str | None, str | None]]:
    """The build and the run that each view's SQL pins."""
    return {view: (pin.build, pin.run) for view, pin in served_views.read_served(settings, catalog.views).items()}


def test_a_crash_at_every_step_of_an_epoch_commits_it_once(stack: Settings, spark: SparkSession) -> None:
    catalog, run = declared(stack, "xspeed")
    send(stack, catalog, 100)
    catch_up(stack, spark, catalog, run)
    for number, (step, committed) in enumerate(EPOCH_STEPS.items(), start=1):
        send(stack, catalog, 60, 100 * number, POISON)
        with crash_at(stack, step):
            catch_up(stack, spark, catalog, run)
        assert len(read_epochs(stack, run.id)) == committed, step
    catch_up(stack, spark, catalog, run)
    check(stack, catalog, run, "xspeed")
    for view in run.views:
        assert Pieces(stack, catalog).commits(run.id, view) == list(range(len(read_epochs(stack, run.id))))


def test_a_crash_in_a_fold_leaves_every_row_once(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold_ranges, "GROWTH", 2)
    settings = stack.model_copy(update={"max_offsets_per_trigger": 40, "fold_epochs": 4, "fold_behind": 2})
    catalog, run = declared(settings, "xfold", only="trade")
    send(settings, catalog, 400)
    catch_up(settings, spark, catalog, run)
    newest = read_epochs(settings, run.id)[-1].number
    view = catalog.view("xfold_trade_stats")
    path = table_paths.speed(settings, run.id, Name(view.name))
    rows = delta.read(path).num_rows
    with leases.hold(settings, f"run_{run.id}") as lease, crash_at(settings, "speed.6_in_fold"):
        fold.fold(spark, fold.Folding(settings, run.id, view, lease), newest, [])
    assert delta.read(path).num_rows == rows
    with leases.hold(settings, f"run_{run.id}") as lease:
        assert fold.fold(spark, fold.Folding(settings, run.id, view, lease), newest, [])
    assert delta.read(path).num_rows < rows
    check(settings, catalog, run, "xfold")


def test_a_crash_at_every_step_of_a_batch_is_finished_by_the_next_one(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "xbatch")
    run = in_lambda(stack, spark, catalog)
    newest = commit_epoch(spark, stack, catalog, run)
    before = pins(stack, catalog)
    for step in BATCH_STEPS:
        with crash_at(stack, *parsed(step)):
            run_batch(stack, catalog)
        assert pins(stack, catalog) == before, step
    for step in PUBLISH_STEPS:
        with crash_at(stack, *parsed(step)):
            run_batch(stack, catalog)
        check_served(stack, catalog, "xbatch", newest.end)
    published = run_batch(stack, catalog).publication
    assert published is not None
    claims = [claim for claim in read_claims(stack) if set(claim.views) == set(catalog.views)]
    assert len(claims) == 2
    assert set(pins(stack, catalog).values()) == {(claims[-1].build, run.id)}
    check_served(stack, catalog, "xbatch", newest.end)


def test_a_crash_at_every_step_of_a_switch_is_finished_by_the_same_call(stack: Settings, spark: SparkSession) -> None:
    catalog = catalog_of(stack, "xswitch")
    live = in_lambda(stack, spark, catalog)
    assert kafka_admin.end_offsets(stack, catalog.topics).size == 504
    newest = commit_epoch(spark, stack, catalog, live)
    before = pins(stack, catalog)
    replay = declared_after_a_crash(stack, catalog)
    with running(stack, spark, catalog, replay) as (query, _):
        query.processAllAvailable()
        for step in PROOF_STEPS:
            with crash_at(stack, *parsed(step)):
                switch.to_kappa(stack, catalog, run=replay.id)
            assert pins(stack, catalog) == before, step
            assert run_roles.roles(stack)[replay.id] == "replay"
        assert {comparison.equal for comparison in comparisons.latest_by_view(stack, replay.id).values()} == {True}
        for step in PUBLISH_STEPS:
            with crash_at(stack, *parsed(step)):
                switch.to_kappa(stack, catalog, run=replay.id)
            check_served(stack, catalog, "xswitch", newest.end)
        assert switch.to_kappa(stack, catalog, run=replay.id).already
        assert pins(stack, catalog) == dict.fromkeys(catalog.views, (None, replay.id))
        check_served(stack, catalog, "xswitch", newest.end)
    back_in_lambda(stack, catalog)


def declared_after_a_crash(stack: Settings, catalog: Catalog) -> Run:
    """A replay whose start crashed and was repeated. Replays that other tests left are abandoned first."""
    for run, role in run_roles.roles(stack).items():
        if role == "replay":
            replays.abandon(stack, run)
    with crash_at(stack, "replay.0_before_start"):
        replays.start(stack, catalog)
    replay = replays.open_or_declare(stack, catalog)
    assert [run for run, role in run_roles.roles(stack).items() if role == "replay"] == [replay.id]
    return replay
