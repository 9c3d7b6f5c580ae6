"""Programs of two versions share a lake: what one adds the other keeps, and one that is too old says so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import Schema

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.record_counts import Totals
from infra.control import claims, locks, runs
from infra.control.claims import add_claim, read_claims
from infra.control.manifest import EPOCHS, Epoch, epoch_row, read_epochs
from infra.control.runs import Run, txn_app
from infra.definitions import definition_files
from infra.lake import delta, idempotent_writes, lake_format, lease_table, table_paths
from infra.settings import Settings
from speed.tables import schemas
from tests.support.records.control_rows import CLAIM

RUN, VIEW = Name("r000001"), Name("trades_by_day")


def partials(settings: Settings, run: Name) -> str:
    return table_paths.speed(settings, run, VIEW)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path / "instance")
    table_paths.open_lake(settings)
    with locks.hold(settings, "control") as lease:
        add_claim(settings, lease, CLAIM)
    return settings


def newer(path: str) -> None:
    """Adds a column, as a newer program would."""
    (mood,) = Schema.from_arrow(pa.schema([("mood", pa.string())])).fields
    delta.table(path).alter.add_columns([mood])


def in_another_process(settings: Settings, text: str) -> Settings:
    """The same lake, with this format, at a place that this process has not checked yet."""
    moved = Settings(data=settings.data.with_name("moved"))
    settings.data.rename(moved.data)
    Path(moved.lake_root, "FORMAT").write_text(text, "utf-8")
    return moved


def test_an_older_program_takes_leases_and_writes_rows_beside_columns_of_a_newer_one(settings: Settings) -> None:
    newer(table_paths.control(settings, lease_table.TABLE))
    newer(claims.TABLE.path(settings))
    for build in ("b000002", "b000003"):
        with locks.hold(settings, "control") as lease:
            add_claim(settings, lease, CLAIM.__class__(**{**vars(CLAIM), "build": Name(build)}))
    assert [claim.build for claim in read_claims(settings)] == ["b000001", "b000002", "b000003"]
    assert "mood" in delta.read(claims.TABLE.path(settings)).column_names


def test_an_older_program_commits_epochs_beside_columns_of_a_newer_one(settings: Settings) -> None:
    path = table_paths.manifest(settings, RUN)
    delta.create(path, EPOCHS)
    newer(path)
    epoch = Epoch(0, Cut(), Cut(), {}, {}, {}, 0, datetime(2026, 1, 2, tzinfo=UTC), Totals())
    idempotent_writes.append_once(path, epoch_row(epoch), txn_app(RUN), 0)
    assert read_epochs(settings, RUN) == (epoch,)
    assert delta.read(path)["mood"].to_pylist() == [None]


def test_an_older_program_declares_a_run_beside_columns_of_a_newer_one(settings: Settings) -> None:
    path = runs.TABLE.path(settings)
    delta.create(path, runs.TABLE.schema)
    newer(path)
    delta.create(path, runs.TABLE.schema)
    row = dict.fromkeys(("views", "topics", "decoders"), "{}") | {"id": RUN, "kind": "live"}
    row |= dict.fromkeys(("start", "head"), str(Cut()))
    declared = pa.Table.from_pylist([row | {"created_at": datetime(2026, 1, 2, tzinfo=UTC)}], runs.TABLE.schema)
    idempotent_writes.append_once(path, declared, f"run/{RUN}", 1)
    assert [run.id for run in runs.read_runs(settings)] == [RUN]
    assert delta.read(path)["mood"].to_pylist() == [None]


@pytest.mark.parametrize("table", [table_paths.quarantine, table_paths.manifest, partials])
def test_an_older_program_resumes_a_run_whose_tables_have_a_column_of_a_newer_one(
    settings: Settings, table: Callable[[Settings, Name], str]
) -> None:
    catalog = definition_files.load(Settings())
    run = Run(RUN, {VIEW: catalog.digest(VIEW)}, {}, {}, Cut())
    schemas.create(settings, catalog, run)
    path, declared = table(settings, RUN), pa.schema(delta.table(table(settings, RUN)).schema().to_arrow())
    newer(path)
    schemas.create(settings, catalog, run)
    row = pa.Table.from_pylist([{}], declared)
    idempotent_writes.append_once(path, row, "epochs", 0)
    large_fold = pa.RecordBatchReader.from_batches(declared, iter(row.to_batches()))
    idempotent_writes.overwrite_once(path, large_fold, "mood IS NULL", "fold", 0)
    assert delta.read(path)["mood"].to_pylist() == [None]


@pytest.mark.parametrize("stored", [[("seq", pa.string())], [("mood", pa.string())], []])
def test_a_table_with_another_type_or_without_a_column_is_refused(settings: Settings, stored: list[Any]) -> None:
    path = table_paths.control(settings, Name("other"))
    delta.create(path, pa.schema([("name", pa.string()), *stored]))
    with pytest.raises(Refused, match="the table has other columns") as refused:
        delta.create(path, pa.schema([("name", pa.string()), ("seq", pa.int64())]))
    assert "it lacks seq int64" in refused.value.what


@pytest.mark.parametrize("text", ["3", "3 3", "1", "", "x"])
def test_a_lake_that_this_program_cannot_read_is_refused_at_every_entry(settings: Settings, text: str) -> None:
    settings = in_another_process(settings, text)
    with pytest.raises(Refused, match="the lake has format") as refused:
        read_claims(settings)
    assert refused.value.where.endswith("FORMAT")
    with pytest.raises(Refused, match="the lake has format"):
        table_paths.open_lake(settings)


def test_a_lake_that_only_a_newer_program_may_write_is_read(settings: Settings) -> None:
    settings = in_another_process(settings, "2 3")
    assert read_claims(settings) == [CLAIM]
    for write in (lambda: locks.hold(settings, "control").__enter__(), lambda: table_paths.open_lake(settings)):
        with pytest.raises(Refused, match="writes version 2 of the lake, which needs version 3") as refused:
            write()
        assert "docs/runbooks/rolling-upgrade.md" in refused.value.fix
    assert read_claims(settings) == [CLAIM]


def test_a_new_lake_is_of_the_version_that_this_program_writes(settings: Settings) -> None:
    assert Path(settings.lake_root, "FORMAT").read_text("utf-8") == "2"


def test_a_version_whose_writer_was_killed_is_written_again(tmp_path: Path) -> None:
    """A lake with tables and an empty version is refused: no program is known to be able to read it."""
    settings = Settings(data=tmp_path)
    lake = Path(settings.lake_root)
    lake.mkdir(parents=True)
    (lake / "FORMAT").write_text("", "utf-8")
    lake_format.create(settings)
    assert (lake / "FORMAT").read_text("utf-8") == "2"
    (lake / "FORMAT").write_text("", "utf-8")
    (lake / "control").mkdir()
    with pytest.raises(Refused, match="format ''"):
        lake_format.create(settings)
