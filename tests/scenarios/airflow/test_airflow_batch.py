"""The batch layer run by Airflow: killed in each step, and run again when there is nothing new."""

from __future__ import annotations

import os
import signal

from deltalake import write_deltalake

from infra.control.builds import read_builds
from infra.control.publications import Publication, read_publications
from infra.lake import delta, table_paths
from tests.support.airflow_runs import Cockpit
from tests.support.load import mixed
from tests.support.world import World

# A task of each verb is killed here; of several topics or views, at the second.
KILLS = {
    "claim": ("batch.0_after_claim",),
    "land": ("batch.1_in_land:2",),
    "build": ("batch.2_before_built:2",),
    "gate": ("batch.3_before_passed",),
    "publish": ("serving.1_between_views:2", "serving.2_after_done"),
}


def done(world: World) -> list[Publication]:
    return [one for one in read_publications(world.settings) if one.state == "done"]


def test_a_scheduled_batch_killed_in_every_task_publishes_once_and_exactly(cockpit: Cockpit, world: World) -> None:
    world.send(mixed(seed=2, count=120))
    world.settle()
    before = len(done(world))
    for verb, faults in KILLS.items():
        cockpit.arm(verb, *(f"{fault}:pause" for fault in faults))
    cockpit.api.unpause("lambda_batch")
    run = cockpit.first_run("lambda_batch")
    for faults in KILLS.values():
        for fault in faults:
            cockpit.kill(fault.partition(":")[0])
    states = cockpit.over("lambda_batch", run)
    cockpit.api.unpause("lambda_batch", paused=True)
    assert set(states.values()) == {"success"}, cockpit.said("lambda_batch", run)
    assert cockpit.api.get("dags", "lambda_batch", "dagRuns", run)["run_type"] == "scheduled"
    tries = cockpit.tries("lambda_batch", run)
    assert {task: tries[task] for task in KILLS} == {task: 1 + len(faults) for task, faults in KILLS.items()}
    assert len(done(world)) == before + 1
    published = world.publication
    assert (published.kind, published.why) == ("build", f"lambda_batch {run}")
    world.settle()
    world.check()
    events = [one for one in cockpit.api.events() if one["extra"]["publication"] == published.seq]
    assert sorted(one["uri"] for one in events) == [f"lk://serving/{view}" for view in sorted(world.catalog.views)]
    assert {one["extra"]["kind"] for one in events} == {"build"}
    told = cockpit.first_run("consumer")
    assert cockpit.over("consumer", told) == {"": "success", "told": "success"}
    (extra,) = cockpit.api.return_value("consumer", told, "told")
    assert extra["publication"] == published.seq


def test_a_batch_without_anything_new_is_a_skip_and_emits_nothing(cockpit: Cockpit, world: World) -> None:
    before, events = done(world), len(cockpit.api.events())
    run = cockpit.api.trigger("lambda_batch")
    cockpit.api.unpause("lambda_batch")
    states = cockpit.over("lambda_batch", run)
    cockpit.api.unpause("lambda_batch", paused=True)
    assert (states[""], states["publish"]) == ("success", "skipped")
    assert "served this already" in cockpit.api.log("lambda_batch", run, "publish")
    assert (done(world), len(cockpit.api.events())) == (before, events)


def test_what_the_gate_refuses_leaves_readers_alone(cockpit: Cockpit, world: World) -> None:
    world.send(mixed(seed=3, count=40))
    world.settle()
    served, before = world.pieces.served(), done(world)
    cockpit.arm("build", "batch.2_after_built:pause")
    run = cockpit.api.trigger("lambda_batch")
    cockpit.api.unpause("lambda_batch")
    group = cockpit.paused("batch.2_after_built")
    built = read_builds(world.settings)[-1]
    path = table_paths.batch(world.settings, built.view, built.build)
    write_deltalake(path, delta.read(path).slice(0, 1), mode="append")
    os.killpg(group, signal.SIGCONT)
    states = cockpit.over("lambda_batch", run)
    cockpit.api.unpause("lambda_batch", paused=True)
    assert (states[""], states["gate"], states["publish"]) == ("failed", "failed", "upstream_failed")
    assert cockpit.tries("lambda_batch", run)["gate"] == 1
    said = cockpit.api.log("lambda_batch", run, "gate")
    assert "ended with 1" in said
    assert built.view in said
    assert (world.pieces.served(), done(world)) == (served, before)
    world.check(healthy=False)
