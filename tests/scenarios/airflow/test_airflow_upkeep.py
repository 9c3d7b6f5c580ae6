"""A backfill rebuilds days. The daily housekeeping changes nothing that is served."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from infra import airflow_api
from infra.local import airflow_history, airflow_server
from tests.support.instances.airflow_runs import Cockpit
from tests.support.instances.world import World
from tests.support.waiting import eventually

VIEW = "trades_by_day"
DAYS = ("2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z")  # most trades are in the second


def test_a_backfill_rebuilds_its_days_and_leaves_everything_else(cockpit: Cockpit, world: World) -> None:
    world.settle()
    world.lk("batch").ok()
    view = world.catalog.view(VIEW)
    rows_before, seq_before = world.pieces.merged(view), world.publication.seq
    cockpit.api.unpause("range_rebuild")
    cockpit.api.backfill("range_rebuild", *DAYS, {"views": [VIEW]})

    def finished_runs() -> list[str]:
        runs = [run for run in cockpit.api.runs("range_rebuild") if run["run_type"] == "backfill"]
        assert [run["state"] for run in runs] == ["success"] * len(DAYS), runs
        return [run["dag_run_id"] for run in runs]

    runs = eventually(world.settings, 300, finished_runs)
    cockpit.api.unpause("range_rebuild", paused=True)
    for run in runs:
        assert cockpit.over("range_rebuild", run)["publish"] == "success"
    assert world.publication.seq == seq_before + len(DAYS)
    assert sorted(cockpit.api.get("dags", "range_rebuild", "dagRuns", run)["data_interval_start"] for run in runs) == [
        *DAYS
    ]
    assert world.pieces.merged(view) == rows_before
    world.check()


def test_housekeeping_finds_nothing_wrong_and_changes_nothing_that_is_served(cockpit: Cockpit, world: World) -> None:
    served_before, publication_before = world.pieces.served(), world.publication
    cockpit.api.unpause("housekeeping")
    run = cockpit.first_run("housekeeping")
    states = cockpit.over("housekeeping", run)
    cockpit.api.unpause("housekeeping", paused=True)
    assert states == {
        "": "success",
        "retire": "skipped",
        **dict.fromkeys(("cleanup", "quarantine", "compare_served"), "success"),
    }
    assert (world.pieces.served(), world.publication) == (served_before, publication_before)
    world.check()


def test_rows_and_logs_of_airflow_go_after_ninety_days(
    cockpit: Cockpit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow keeps the last run of a DAG, and here all runs of other DAGs."""
    others = len(cockpit.api.runs("lambda_batch")) + len(cockpit.api.runs("housekeeping"))
    assert len(cockpit.api.runs("range_rebuild")) > 1
    old = timedelta(days=91)
    database = airflow_api.home(world.settings) / "airflow.db"
    with closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        connection.execute(
            "UPDATE dag_run SET start_date = datetime(start_date, ?) WHERE dag_id = 'range_rebuild'",
            (f"-{old.days} days",),
        )
    logs = airflow_server.logs(world.settings)
    of_rebuilds = [path for path in logs.rglob("*.log") if "range_rebuild" in str(path)]
    kept = [path for path in logs.rglob("*.log") if "range_rebuild" not in str(path)]
    assert of_rebuilds
    for path in of_rebuilds:
        then = path.stat().st_mtime - old.total_seconds()
        os.utime(path, (then, then))
    for name, value in airflow_server.server(world.settings).env.items():
        monkeypatch.setenv(name, value)
    airflow_history.clean(logs)
    assert len(cockpit.api.runs("range_rebuild")) == 1
    assert len(cockpit.api.runs("lambda_batch")) + len(cockpit.api.runs("housekeeping")) == others
    assert [path for path in of_rebuilds if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []
