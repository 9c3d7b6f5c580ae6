"""Days rebuilt by a backfill, and the daily housekeeping."""

from __future__ import annotations

from tests.support.airflow_runs import Cockpit
from tests.support.waiting import eventually
from tests.support.world import World

VIEW = "trades_by_day"
DAYS = ("2026-03-13T00:00:00Z", "2026-03-14T00:00:00Z")  # the second is the one that most trades are in


def test_a_backfill_rebuilds_its_days_and_leaves_everything_else(cockpit: Cockpit, world: World) -> None:
    world.settle()
    world.lk("batch").ok()
    view = world.catalog.view(VIEW)
    rows, before = world.pieces.merged(view), world.publication.seq
    cockpit.api.unpause("range_rebuild")
    cockpit.api.backfill("range_rebuild", *DAYS, {"views": [VIEW]})

    def filled() -> list[str]:
        runs = [one for one in cockpit.api.runs("range_rebuild") if one["run_type"] == "backfill"]
        assert [one["state"] for one in runs] == ["success"] * len(DAYS), runs
        return [one["dag_run_id"] for one in runs]

    runs = eventually(world.settings, 300, filled)
    cockpit.api.unpause("range_rebuild", paused=True)
    for one in runs:
        assert cockpit.over("range_rebuild", one)["publish"] == "success"
    assert world.publication.seq == before + len(DAYS)
    assert sorted(cockpit.api.get("dags", "range_rebuild", "dagRuns", one)["data_interval_start"] for one in runs) == [
        *DAYS
    ]
    assert world.pieces.merged(view) == rows
    world.check()


def test_housekeeping_finds_nothing_wrong_and_changes_nothing_that_is_served(cockpit: Cockpit, world: World) -> None:
    served, publication = world.pieces.served(), world.publication
    cockpit.api.unpause("housekeeping")
    run = cockpit.first_run("housekeeping")
    states = cockpit.over("housekeeping", run)
    cockpit.api.unpause("housekeeping", paused=True)
    assert states == {
        "": "success",
        "retire": "skipped",
        **dict.fromkeys(("cleanup", "quarantine", "compare_served"), "success"),
    }
    assert (world.pieces.served(), world.publication) == (served, publication)
    world.check()
