"""The rows of a study; its machine, versions and command in the file beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.errors import Refused
from core.evidence.measurement import Measurement
from core.evidence.origin import Origin
from infra import measurement_files, study_files

ORIGIN = Origin("a machine", "Python 3.11", "lk study --sizes 1 --repeat 5")
WRITTEN = """{
  "machine": "a machine",
  "versions": "Python 3.11",
  "command": "lk study --sizes 1 --repeat 5"
}
"""


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    study_files.write_origin(tmp_path, ORIGIN)
    assert (tmp_path / "study.json").read_text("utf-8") == WRITTEN
    assert study_files.read_origin(tmp_path) == ORIGIN


def test_a_file_of_rows_has_it_beside(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(WRITTEN, "utf-8")
    assert study_files.read_origin(tmp_path / "study.parquet").machine == "a machine"


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert study_files.read_origin(tmp_path) == Origin()


@pytest.mark.parametrize("text", ["", "[]", '{"machine": 3}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / study_files.ORIGIN).write_text(text, "utf-8")
    with pytest.raises(Refused, match="not the origin"):
        study_files.read_origin(tmp_path)


def test_a_folder_has_rows_beside_an_instance_that_still_runs(tmp_path: Path) -> None:
    rows = [Measurement("freshness", "kappa", 0.7, datetime(2026, 11, 26, tzinfo=UTC))]
    measurement_files.write(tmp_path / "rows" / "a.parquet", rows)
    (tmp_path / "instance").mkdir()
    (tmp_path / "instance" / "lake.parquet").write_bytes(b"rows of a view")
    assert study_files.read_rows(tmp_path) == study_files.read_rows(tmp_path / "rows" / "a.parquet") == rows
