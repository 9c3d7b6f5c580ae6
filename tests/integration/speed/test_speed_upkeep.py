"""Compaction and maintenance of a run: fewer rows and files, the same results."""

from __future__ import annotations

import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.identifiers import Name
from infra.control.manifest import read_epochs
from infra.lake import compaction, delta, leases, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.tables import fold, fold_ranges, schemas
from speed.tables.maintenance import Maintenance
from tests.support.instances.layers import send
from tests.support.instances.speed_runs import catch_up, check, declared


def counted(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[int]:
    """A list that grows with every call of a function of the module."""
    calls, function = list[int](), getattr(module, name)

    def counting(*arguments: Any) -> Any:
        calls.append(1)
        return function(*arguments)

    monkeypatch.setattr(module, name, counting)
    return calls


@pytest.mark.slow
def test_folding_keeps_the_answer_and_the_boundaries(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark writes the folds of more than 40 KB."""
    monkeypatch.setattr(fold_ranges, "GROWTH", 2)
    monkeypatch.setattr(fold, "COLLECTED_BYTES", 40_000)
    large = counted(monkeypatch, fold, "_replace_from_spark")
    small = counted(monkeypatch, fold, "_replace")
    settings = stack.model_copy(update={"max_offsets_per_trigger": 40})
    folding = settings.model_copy(update={"fold_epochs": 4, "fold_behind": 2})
    catalog, run = declared(settings, "folded", only="trade")
    send(settings, catalog, 600)
    catch_up(settings, spark, catalog, run)
    newest = read_epochs(settings, run.id)[-1].number
    assert newest >= 12
    view = catalog.view("folded_trade_stats")
    path = table_paths.speed(settings, run.id, Name(view.name))
    rows = delta.read(path).num_rows
    with leases.hold(settings, f"run_{run.id}") as lease:
        folds = fold.Folding(folding, run.id, view, lease)
        while fold.fold(spark, folds, newest, [5]):
            pass
    assert len(small) > len(large) > 0
    folded = delta.table(path)
    with leases.hold(settings, f"run_{run.id}") as lease:
        assert not fold.fold(spark, fold.Folding(folding, run.id, view, lease), newest, [5])
    assert delta.version(path) == folded.version()
    tags = delta.read(path, ["first_epoch", "last_epoch"]).to_pylist()
    spans = sorted({(row["first_epoch"], row["last_epoch"]) for row in tags})
    assert spans[:2] == [(0, 5), (6, 7)]
    assert len(tags) < rows
    check(settings, catalog, run, "folded")
    send(settings, catalog, 100, 600)
    catch_up(settings, spark, catalog, run)
    check(settings, catalog, run, "folded")


def test_ranges_lie_between_boundaries_and_behind_the_newest() -> None:
    spans = [
        (r.first, r.last) for r in fold_ranges.due_ranges(last_epoch=260, behind=100, boundaries=[70, 99], size=50)
    ]
    assert spans == [(0, 49), (50, 70), (71, 99), (100, 149)]
    assert list(fold_ranges.due_ranges(last_epoch=148, behind=100, boundaries=[], size=50)) == []
    assert [(r.first, r.last) for r in fold_ranges.due_ranges(1_150, 100, [500], 1_000)] == [(0, 500), (501, 999)]
    later = [(r.first, r.last) for r in fold_ranges.due_ranges(1_150, 100, [500, 700], 1_000, folded=500)]
    assert later == [(501, 700), (701, 999)]


def test_what_is_due_waits_once_however_long_the_task_before_it_takes(
    stack: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25,000 epochs are committed during one compaction: 25 views would have queued 70,000 tasks."""
    catalog, run = declared(stack, "queue")
    schemas.create(stack, catalog, run)
    go_on, order = threading.Event(), list[str]()

    def compact(path: str, size: int, lease: Lease) -> None:
        order.append(path)
        go_on.wait(60)

    monkeypatch.setattr(compaction, "compact_and_checkpoint", compact)
    monkeypatch.setattr(compaction, "vacuum", lambda path: order.append(f"vacuum {path}"))
    with leases.hold(stack, f"run_{run.id}") as lease:
        tasks = Maintenance(spark, stack, catalog, run, lease)
        behind = [tasks.start_due(epoch) for epoch in range(20, 25_001)]
        assert behind[-1] == 25_000 - 20
        go_on.set()
        tasks.drain()
        assert tasks.start_due(25_001) == 0
        tasks.close()
    paths = schemas.paths(stack, catalog, run)
    assert sorted(order) == sorted([*paths, *paths, *(f"vacuum {path}" for path in paths), paths[0]])


def test_maintenance_bounds_files_on_disk_and_changes_nothing(stack: Settings, spark: SparkSession) -> None:
    settings = stack.model_copy(update={"max_offsets_per_trigger": 20, "retention_minutes": 0})
    catalog, run = declared(settings, "tidy", only="trade")
    send(settings, catalog, 500)
    catch_up(settings, spark, catalog, run)
    with leases.hold(settings, f"run_{run.id}") as lease:
        tasks = Maintenance(spark, settings, catalog, run, lease)
        tasks.start_due(600)
        tasks.drain()
        tasks.close()
    for path in schemas.paths(settings, catalog, run):
        files = delta.table(path).file_uris()
        assert len(files) <= 1
        assert len(list(Path(path).glob("*.parquet"))) == len(files)
    check(settings, catalog, run, "tidy")
