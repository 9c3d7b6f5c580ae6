"""Airflow runs the batch layer: a kill in each task, a batch without new records, and a refused build."""

from __future__ import annotations

import os
import signal

from deltalake import write_deltalake

from infra.control.builds import read_builds
from infra.lake import delta, table_paths
from tests.support.instances.airflow_runs import Cockpit, lineage_of
from tests.support.instances.world import World
from tests.support.records.load import mixed

# Where each verb's task is killed. `:2` is the second topic or view.
KILLS = {
    "claim": ("batch.0_after_claim",),
    "land": ("batch.1_in_land:2",),
    "build": ("batch.2_before_built:2",),
    "gate": ("batch.3_before_passed",),
    "publish": ("serving.1_between_views:2", "serving.2_after_done"),
}


def test_a_scheduled_batch_killed_in_every_task_publishes_once_and_exactly(cockpit: Cockpit, world: World) -> None:
    world.send(mixed(seed=2, count=120))
    world.settle()
    publications_before = len(world.publications)
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
    assert len(world.publications) == publications_before + 1
    published = world.publication
    assert (published.kind, published.why) == ("build", f"lambda_batch {run}")
    world.settle()
    world.check()
    events = [event for event in cockpit.api.events() if event["extra"]["publication"] == published.seq]
    assert sorted(event["uri"] for event in events) == [f"lk://serving/{view}" for view in sorted(world.catalog.views)]
    assert {event["extra"]["kind"] for event in events} == {"build"}
    consumer_run = cockpit.first_run("consumer")
    assert cockpit.over("consumer", consumer_run) == {"": "success", "told": "success"}
    (extra,) = cockpit.api.return_value("consumer", consumer_run, "told")
    assert extra["publication"] == published.seq
    check_lineage(world, tries)


def check_lineage(world: World, tries: dict[str, int]) -> None:
    """Fails unless each try of a task reported its step, and the last one completed it, under the task's name."""
    of_tasks = {task: [state for _, state in steps] for task, steps in lineage_of(world, "lambda_batch").items()}
    steps = ("land", "build", "gate", "publish")
    assert {task: states.count("START") for task, states in of_tasks.items()} == {task: tries[task] for task in steps}
    assert all((states[-1], states.count("COMPLETE")) == ("COMPLETE", 1) for states in of_tasks.values()), of_tasks


def test_a_batch_without_anything_new_is_a_skip_and_emits_nothing(cockpit: Cockpit, world: World) -> None:
    publications_before, events_before = world.publications, len(cockpit.api.events())
    run = cockpit.api.trigger("lambda_batch")
    cockpit.api.unpause("lambda_batch")
    states = cockpit.over("lambda_batch", run)
    cockpit.api.unpause("lambda_batch", paused=True)
    assert (states[""], states["publish"]) == ("success", "skipped")
    assert "served this already" in cockpit.api.log("lambda_batch", run, "publish")
    assert (world.publications, len(cockpit.api.events())) == (publications_before, events_before)


def test_what_the_gate_refuses_leaves_readers_alone(cockpit: Cockpit, world: World) -> None:
    world.send(mixed(seed=3, count=40))
    world.settle()
    served_before, publications_before = world.pieces.served(), world.publications
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
    log = cockpit.api.log("lambda_batch", run, "gate")
    assert "ended with 1" in log
    assert built.view in log
    assert (world.pieces.served(), world.publications) == (served_before, publications_before)
    world.check(healthy=False)
