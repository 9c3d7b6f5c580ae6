"""The exit code of a verb decides the state of its task in a real Airflow."""

from __future__ import annotations

import psutil

from infra.control import locks
from infra.control.publications import read_publications
from tests.support.instances.airflow_runs import Cockpit
from tests.support.instances.world import World


def test_each_exit_code_does_what_it_should(cockpit: Cockpit, world: World) -> None:
    with locks.hold(world.settings, "control"):
        run = cockpit.api.trigger("codes")
        cockpit.task_is("codes", run, "try_again", "up_for_retry")
    states = cockpit.over("codes", run)
    assert states == {
        "": "failed",
        "done": "success",
        "refused": "failed",
        "usage": "failed",
        "try_again": "success",
        "unwanted": "skipped",
    }
    tries = cockpit.tries("codes", run)
    assert (tries["done"], tries["refused"], tries["usage"]) == (1, 1, 1)
    assert tries["try_again"] >= 2
    refused = cockpit.api.log("codes", run, "refused")
    assert "ended with 1: there is no build b999999" in refused
    assert "where: control.claims" in refused
    assert "No such option" in cockpit.api.log("codes", run, "usage")
    assert "ended with 75: " in cockpit.api.log("codes", run, "try_again")
    assert cockpit.api.return_value("codes", run, "done") == len(read_publications(world.settings))


def test_a_verb_that_takes_too_long_ends_with_its_task(cockpit: Cockpit, world: World) -> None:
    run = cockpit.api.trigger("endless")
    assert cockpit.over("endless", run) == {"": "failed", "endless": "failed"}
    assert "timed out" in cockpit.api.log("endless", run, "endless").lower()
    words = ["produce", "trades", "--seed=1", "--rate=1", "--json"]
    running = psutil.process_iter(["cmdline"])  # a zombie has no command line
    assert [process.pid for process in running if (process.info["cmdline"] or [])[-5:] == words] == []
    assert len(world.log.read()) > 200
    world.marks.append(dict(world.log.ends))
