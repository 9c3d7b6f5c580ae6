"""A backfill rebuilds days. The daily housekeeping changes nothing that is served."""

from __future__ import annotations

from tests.support.airflow_runs import Cockpit
from tests.support.waiting import eventually
from tests.support.world import World

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
