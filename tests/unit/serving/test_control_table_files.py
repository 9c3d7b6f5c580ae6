"""`lk cleanup` bounds the files of control tables: what was replaced longer ago than the retention goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from core.cut import Cut
from core.identifiers import Name
from infra.control import locks, publications, redrives, route_runs, runs
from infra.control.pins import Pin
from infra.control.publications import Publication, add_publication, read_publications
from infra.control.store import ControlTable
from infra.settings import Settings
from serving import cleanup

PIN = Pin(Name("b000001"), None, -1, Cut.of({"trades": {0: 5}}), Name("d1"), "batch", Name("s1"))
DONE = Publication(
    1, "build", "done", datetime(2026, 11, 26, tzinfo=UTC), "me", "why", {}, {Name("v"): PIN}, {Name("v"): "SELECT 1"}
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, retention_minutes=60)


def files(settings: Settings, table: ControlTable = publications.TABLE) -> list[Path]:
    """Every file of a control table."""
    return [path for path in Path(table.path(settings)).rglob("*") if path.is_file()]


def clean(settings: Settings) -> None:
    with locks.hold(settings, "control") as lease:
        cleanup._compact(settings, locks.PROTECTED["control"], lease)


def publish(settings: Settings, first: int, count: int) -> None:
    with locks.hold(settings, "control") as lease:
        for number in range(first, first + count):
            add_publication(settings, lease, replace(DONE, seq=number))


def test_files_of_a_control_table_do_not_grow_with_its_commits(settings: Settings) -> None:
    """120 commits left 314 files. A retention of nothing stands for commits that are older than it."""
    at_once = settings.model_copy(update={"retention_minutes": 0})
    numbers = []
    for turn in range(4):
        publish(at_once, 1 + 30 * turn, 30)
        clean(at_once)
        numbers.append(len(files(at_once)))
    assert max(numbers) <= 8, numbers
    assert [publication.seq for publication in read_publications(at_once)] == list(range(1, 121))


def test_files_that_were_just_replaced_stay_for_readers(settings: Settings) -> None:
    publish(settings, 1, 5)
    before = {path for path in files(settings) if path.suffix == ".parquet" and "_delta_log" not in path.parts}
    clean(settings)
    assert before <= set(files(settings))


def test_tables_of_runs_routes_and_redrives_are_cleaned_too(settings: Settings) -> None:
    at_once = settings.model_copy(update={"retention_minutes": 0})
    for number in range(1, 10):
        row = pa.Table.from_pylist([{"id": f"r{number:06d}"}], runs.TABLE.schema)
        write_deltalake(runs.TABLE.path(at_once), row, mode="append")
    for name, table in (("routes", route_runs.TABLE), ("redrives", redrives.TABLE)):
        with locks.hold(at_once, name) as lease:
            for number in range(1, 10):
                table.append(at_once, lease, {"seq": number})
    cleanup._compact_others(at_once)
    for table in (runs.TABLE, route_runs.TABLE, redrives.TABLE):
        rows = [path for path in files(at_once, table) if path.suffix == ".parquet" and "_delta_log" not in path.parts]
        assert len(rows) == 1, table.name
        assert table.read_arrow(at_once, table.schema.names).num_rows == 9
