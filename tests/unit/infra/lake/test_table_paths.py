"""What the lake holds is listed by its folders."""

from __future__ import annotations

from pathlib import Path

from core.identifiers import Name
from infra.lake import table_paths
from infra.settings import Settings


def test_folders_that_others_leave_in_the_lake_are_no_tables(tmp_path: Path) -> None:
    """Trino leaves a folder after a CREATE TABLE that failed, a file system its lost+found, a person a copy."""
    settings = Settings(data=tmp_path)
    lake = Path(table_paths.open_lake(settings))
    for area in ("batch", "batch/trade_stats", "archive", "archive/trades", "control", "speed"):
        for folder in ("made-ba6a30e3163649c0a336880be80bdcdf", "lost+found", "b000001 (copy)"):
            (lake / area / folder).mkdir(parents=True)
    for table in ("batch/trade_stats/b000001", "archive/trades/d1", "control/leases", "speed/r000001/trade_stats"):
        (lake / table).mkdir(parents=True)
    assert table_paths.builds(settings) == ((Name("trade_stats"), Name("b000001")),)
    assert table_paths.archived_topics(settings) == (Name("trades"),)
    assert table_paths.decoders(settings, Name("trades")) == (Name("d1"),)
    tables = ("control/leases", "archive/trades/d1", "batch/trade_stats/b000001", "speed/r000001/trade_stats")
    assert table_paths.tables(settings) == tuple(f"{lake}/{table}" for table in tables)
