"""Airflow goes on when one of its processes ends, and when another one holds its database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import psutil

from infra import airflow_api
from infra.local import local_processes
from tests.support.instances.airflow_runs import Cockpit
from tests.support.instances.world import World
from tests.support.waiting import eventually

LOCKED = timedelta(seconds=20)  # SQLite gives up after 5 by default


def children(world: World) -> dict[int, str]:
    """The command of each process that the supervisor started, by pid."""
    recorded = local_processes.recorded(world.settings, "airflow")
    assert recorded
    running = psutil.Process(recorded.pid).children()
    return {child.pid: " ".join(child.cmdline()) for child in running if child.status() != psutil.STATUS_ZOMBIE}


def scheduler(world: World) -> psutil.Process:
    pids = [pid for pid, command in children(world).items() if "airflow scheduler" in command]
    assert len(pids) == 1, children(world)
    return psutil.Process(pids[0])


def heartbeat(cockpit: Cockpit) -> datetime:
    health = cockpit.api.get("monitor", "health")
    return datetime.fromisoformat(health["scheduler"]["latest_scheduler_heartbeat"])


def scheduler_beats_after(cockpit: Cockpit, moment: datetime) -> None:
    def beats() -> None:
        assert heartbeat(cockpit) > moment

    eventually(cockpit.world.settings, 120, beats)


def test_a_locked_database_ends_no_process(cockpit: Cockpit, world: World) -> None:
    """A daily clean-up holds the database while it deletes."""
    children_before = children(world)
    with closing(sqlite3.connect(airflow_api.home(world.settings) / "airflow.db", timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        locked_at = datetime.now(UTC)

        def held() -> None:
            assert datetime.now(UTC) - locked_at > LOCKED

        eventually(world.settings, 60, held)
        assert heartbeat(cockpit) < locked_at + timedelta(seconds=1), "nothing was locked"
        connection.rollback()
    scheduler_beats_after(cockpit, datetime.now(UTC))
    assert children(world) == children_before
    world.check()


def test_a_process_that_ends_is_started_again_without_its_workers(cockpit: Cockpit, world: World) -> None:
    killed = scheduler(world)
    workers = killed.children(recursive=True)
    assert workers
    killed.kill()

    def another() -> None:
        assert scheduler(world).pid != killed.pid
        assert [worker for worker in workers if worker.is_running()] == []

    eventually(world.settings, 30, another)
    scheduler_beats_after(cockpit, datetime.now(UTC))
    log = local_processes.log_file(world.settings, "airflow").read_text("utf-8")
    assert "airflow scheduler ended by itself with -9; starting it again" in log
    world.check()
