"""Airflow runs a reprocess (killed, rejected, approved, abandoned) and a rollback whose paused first try wakes late."""

from __future__ import annotations

import os
import signal

import psutil

from core.identifiers import Name
from infra.control import run_roles, runs
from infra.control.claims import read_claims
from infra.control.publications import read_publications
from speed.process import background
from tests.support.instances.airflow_runs import Cockpit, lineage_of, members
from tests.support.instances.world import World
from tests.support.records.load import mixed
from tests.support.waiting import eventually

KAPPA = "kappa_reprocess"
KILLED_ONCE = ("plan", "start", "wait", "compare", "gate")


def test_a_reprocess_killed_in_every_task_is_served_once_after_its_approval(cockpit: Cockpit, world: World) -> None:
    served_before = world.pieces.served()
    # The first start is killed. The replay of the second pauses until `wait` has polled once; the next poll is killed.
    cockpit.arm("replay", "replay.0_before_start:pause", "speed.4_before_manifest:pause", "", "kill")
    cockpit.arm("compare", "replay.2_in_compare:2:pause")
    cockpit.arm("gate", "kill")
    cockpit.arm("switch", "kill", "", "serving.1_between_views:2:pause", "serving.2_after_done:pause")  # plan: twice
    rate = len(world.log.records) // 4  # so that the first epoch does not hold the whole log
    run = cockpit.api.trigger(KAPPA, {"run": "again", "rate": rate})
    cockpit.kill("replay.0_before_start")
    cockpit.task_is(KAPPA, run, "wait", "up_for_reschedule")
    assert cockpit.api.tasks(KAPPA, run)["start"]["state"] == "success"
    assert background.alive(world.settings, Name("again"))
    os.killpg(cockpit.paused("speed.4_before_manifest"), signal.SIGCONT)
    cockpit.kill("replay.2_in_compare")
    cockpit.task_is(KAPPA, run, "approval", "awaiting_input", 180)
    assert "equals build" in approval_body(cockpit, run)
    tries = cockpit.tries(KAPPA, run)
    assert {task: tries[task] for task in KILLED_ONCE} == dict.fromkeys(KILLED_ONCE, 2)
    cockpit.decide(KAPPA, run, "approval", "Reject")
    states = cockpit.over(KAPPA, run)
    assert (states[""], states["switch"], states["give_up"]) == ("failed", "upstream_failed", "failed")
    assert "the replay is kept (--run=again)" in cockpit.api.log(KAPPA, run, "give_up")
    assert (world.pieces.served(), run_roles.roles(world.settings)[Name("again")]) == (served_before, "replay")
    cockpit.api.clear(KAPPA, run, "approval", "switch", "give_up")
    cockpit.task_is(KAPPA, run, "approval", "awaiting_input")
    cockpit.decide(KAPPA, run, "approval", "Approve")
    cockpit.kill("serving.1_between_views")
    cockpit.kill("serving.2_after_done")
    states = cockpit.over(KAPPA, run)
    assert (states[""], states["switch"], states["give_up"]) == ("success", "success", "skipped")
    assert cockpit.tries(KAPPA, run)["switch"] == 3
    assert [publication.why for publication in read_publications(world.settings)].count(f"{KAPPA} {run}") == 1
    assert {(pin.mode, pin.run) for pin in world.publication.pins.values()} == {("kappa", "again")}
    events = [event for event in cockpit.api.events() if event["extra"]["publication"] == world.publication.seq]
    assert len(events) == len(world.catalog.views)
    world.settle_all()
    world.check()
    reported = lineage_of(world, KAPPA)
    assert reported["start"][-1] == ("replay", "START")
    assert reported["wait"][-1] == ("replay", "COMPLETE")
    assert [state for job, state in reported["switch"] if job == "switch"].count("COMPLETE") == 1
    assert reported["switch"][-1] == ("switch", "COMPLETE")


def test_while_kappa_serves_a_batch_is_a_skip(cockpit: Cockpit, world: World) -> None:
    claims_before = read_claims(world.settings)
    run = cockpit.api.trigger("lambda_batch")
    cockpit.api.unpause("lambda_batch")
    states = cockpit.over("lambda_batch", run)
    cockpit.api.unpause("lambda_batch", paused=True)
    assert set(states.values()) == {"success", "skipped"}
    assert states["publish"] == "skipped"
    assert read_claims(world.settings) == claims_before


def test_a_first_try_that_wakes_after_its_retry_has_rolled_back_changes_nothing(cockpit: Cockpit, world: World) -> None:
    seq_before = world.publication.seq
    cockpit.arm("rollback", "serving.1_between_views:2:pause")
    run = cockpit.api.trigger("rollback", {"why": "drill"})
    group = cockpit.paused("serving.1_between_views")
    worker = psutil.Process(group).ppid()
    os.kill(worker, signal.SIGSTOP)  # otherwise it keeps sending heartbeats for its task
    try:
        states = cockpit.over("rollback", run)
        assert set(states.values()) == {"success"}
        assert cockpit.tries("rollback", run)["rollback"] == 2
        published, versions = world.publication, world.versions("control")
        assert (published.seq, published.kind) == (seq_before + 1, "rollback")
        assert published.why == f"drill · rollback {run}"
        assert members(group) != []
    finally:
        os.killpg(group, signal.SIGCONT)
        os.kill(worker, signal.SIGCONT)

    def group_is_gone() -> None:
        assert members(group) == []

    eventually(world.settings, 60, group_is_gone)
    versions_after = world.versions("control")  # the first try writes the row of its outcome into the audit
    kept = [table for table in versions if not table.endswith(("leases", "audit"))]
    assert [versions_after[table] for table in kept] == [versions[table] for table in kept]
    assert world.publication == published
    world.settle_all()
    world.check()


def test_a_replay_that_dies_is_abandoned_on_failure_abandon(cockpit: Cockpit, world: World) -> None:
    world.send(mixed(seed=5, count=40))
    world.settle()
    served_before = world.pieces.served()
    cockpit.arm("replay", "speed.4_before_manifest:pause")  # of the process that `lk replay start` leaves behind
    run = cockpit.api.trigger(KAPPA, {"approval": False, "on_failure": "abandon"})
    cockpit.task_is(KAPPA, run, "wait", "up_for_reschedule")
    replay = runs.read_runs(world.settings)[-1].id
    cockpit.kill("speed.4_before_manifest")
    states = cockpit.over(KAPPA, run)
    assert (states[""], states["wait"], states["compare"]) == ("failed", "failed", "upstream_failed")
    assert f"replay {replay} died" in cockpit.api.log(KAPPA, run, "wait")
    assert "was abandoned" in cockpit.api.log(KAPPA, run, "give_up")
    assert (run_roles.roles(world.settings)[replay], world.pieces.served()) == ("abandoned", served_before)


def approval_body(cockpit: Cockpit, run: str) -> str:
    """The text that Airflow shows to the approver."""
    path = ("dags", KAPPA, "dagRuns", run, "taskInstances", "approval", "-1", "hitlDetails")
    return str(cockpit.api.get(*path)["body"])
