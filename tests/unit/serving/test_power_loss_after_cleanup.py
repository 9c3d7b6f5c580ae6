"""Power is lost after a cleanup, or in its middle: no row of a control table is lost, whatever was not on the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.catalog import Catalog
from flows.repair import restore_control_logs
from flows.scrub import scrub
from infra.control import locks
from infra.control.publications import add_publication, read_publications
from infra.lake import checksums, compaction, lease_table, table_paths
from infra.settings import Settings
from serving.cleanup import clean_up
from tests.support.faults.harms import empty
from tests.support.faults.power_loss import files_on_disk
from tests.unit.serving.test_control_table_files import DONE

NUMBERS = list(range(1, 31))


def publish(settings: Settings, *numbers: int) -> None:
    table_paths.open_lake(settings)
    for number in numbers:
        with locks.hold(settings, "control") as lease:
            add_publication(settings, lease, replace(DONE, seq=number))


def lose_power(settings: Settings, on_disk: Callable[[Path], bool]) -> None:
    """Empties every file of the control tables that no process has waited for; leases are restored elsewhere."""
    checksums.finish()
    for file in Path(settings.lake_root, "control").rglob("*"):
        if file.is_file() and lease_table.TABLE not in file.parts and not on_disk(file):
            empty(file)


def numbers_after_repair(settings: Settings) -> list[int]:
    restore_control_logs(settings)
    assert scrub(settings).damaged == ()
    publish(settings, NUMBERS[-1] + 1)
    return [publication.seq for publication in read_publications(settings)]


@pytest.mark.parametrize("minutes", [0, 60])
def test_a_power_loss_after_a_cleanup_takes_no_row(tmp_path: Path, minutes: int) -> None:
    """A retention of nothing stands for files that are older than it: the vacuum deletes all that was replaced."""
    settings = Settings(data=tmp_path).model_copy(update={"retention_minutes": minutes})
    with files_on_disk() as on_disk:
        publish(settings, *NUMBERS)
        clean_up(settings, Catalog({}, {}))
        publish(settings, NUMBERS[-1])
        lose_power(settings, on_disk)
    assert numbers_after_repair(settings) == [*NUMBERS, NUMBERS[-1] + 1]


def test_a_power_loss_in_the_middle_of_a_vacuum_takes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, vacuum = Settings(data=tmp_path).model_copy(update={"retention_minutes": 0}), compaction.vacuum

    def vacuum_and_stop(path: str) -> int:
        vacuum(path)
        raise KeyboardInterrupt

    monkeypatch.setattr(compaction, "vacuum", vacuum_and_stop)
    with files_on_disk() as on_disk:
        publish(settings, *NUMBERS)
        with pytest.raises(KeyboardInterrupt):
            clean_up(settings, Catalog({}, {}))
        lose_power(settings, on_disk)
    assert numbers_after_repair(settings) == [*NUMBERS, NUMBERS[-1] + 1]


def test_a_power_loss_after_the_first_row_of_a_table_takes_no_row(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with files_on_disk() as on_disk:
        publish(settings, 1)
        lose_power(settings, on_disk)
    restore_control_logs(settings)
    assert [publication.seq for publication in read_publications(settings)] == [1]


def test_a_power_loss_after_each_of_many_commits_takes_no_row(tmp_path: Path) -> None:
    """Every twentieth commit writes a checkpoint."""
    settings = Settings(data=tmp_path)
    with files_on_disk() as on_disk:
        for number in NUMBERS:
            publish(settings, number)
            lose_power(settings, on_disk)
            restore_control_logs(settings)
            assert len(read_publications(settings)) == number
