"""Compaction and maintenance of a run: fewer rows and files, the same results."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from core.identifiers import Name
from infra.control.manifest import read_epochs
from infra.lake import delta, leases, table_paths
from infra.settings import Settings
from speed.tables import fold
from speed.tables.maintenance import Maintenance
from tests.support.layers import send
from tests.support.speed_runs import catch_up, check, declared


def test_folding_keeps_the_answer_and_the_boundaries(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "LEVELS", (1, 2))
    settings = stack.model_copy(update={"max_offsets_per_trigger": 40})
    folding = settings.model_copy(update={"fold_epochs": 4, "fold_behind": 2})
    catalog, run = declared(settings, "folded")
    send(settings, catalog, 600)
    catch_up(settings, spark, catalog, run)
    newest = read_epochs(settings, run.id)[-1].number
    assert newest >= 12
    view = catalog.view("folded_trade_stats")
    path = table_paths.speed(settings, run.id, Name(view.name))
    rows = delta.read(path).num_rows
    with leases.hold(settings, f"run_{run.id}") as lease:
        while fold.fold(spark, folding, run.id, view, newest, [5], lease):
            pass
    tags = delta.read(path, ["first_epoch", "last_epoch"]).to_pylist()
    spans = sorted({(row["first_epoch"], row["last_epoch"]) for row in tags})
    assert spans[:2] == [(0, 5), (6, 7)]
    assert len(tags) < rows
    check(settings, catalog, run, "folded")
    send(settings, catalog, 100, 600)
    catch_up(settings, spark, catalog, run)
    check(settings, catalog, run, "folded")


def test_ranges_lie_between_boundaries_and_behind_the_newest() -> None:
    spans = [(r.first, r.last) for r in fold.due_ranges(newest=260, behind=100, boundaries=[70, 99], size=50)]
    assert spans == [(0, 49), (50, 70), (71, 99), (100, 149)]
    assert fold.due_ranges(newest=148, behind=100, boundaries=[], size=50) == []
    assert [(r.first, r.last) for r in fold.due_ranges(1_150, 100, [500], 1_000)] == [(0, 500), (501, 999)]


def test_maintenance_bounds_files_and_changes_nothing(stack: Settings, spark: SparkSession) -> None:
    settings = stack.model_copy(update={"max_offsets_per_trigger": 20})
    catalog, run = declared(settings, "tidy")
    send(settings, catalog, 500)
    catch_up(settings, spark, catalog, run)
    with leases.hold(settings, f"run_{run.id}") as lease:
        tasks = Maintenance(spark, settings, catalog, run, lease)
        tasks.start_due(600)
        tasks.drain()
        tasks.close()
    for view in run.views:
        assert len(delta.table(table_paths.speed(settings, run.id, view)).file_uris()) == 1
    check(settings, catalog, run, "tidy")
