"""The machine, the versions and the command of a study, in the file beside its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Refused
from core.evidence.origin import Origin
from infra import study_origin

ORIGIN = Origin("a machine", "Python 3.11", "lk study --sizes 1 --repeat 5")
WRITTEN = """{
  "machine": "a machine",
  "versions": "Python 3.11",
  "command": "lk study --sizes 1 --repeat 5"
}
"""


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    study_origin.write(tmp_path, ORIGIN)
    assert (tmp_path / "study.json").read_text("utf-8") == WRITTEN
    assert study_origin.read(tmp_path) == ORIGIN


def test_a_file_of_rows_has_it_beside(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(WRITTEN, "utf-8")
    assert study_origin.read(tmp_path / "study.parquet").machine == "a machine"


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert study_origin.read(tmp_path) == Origin()


@pytest.mark.parametrize("text", ["", "[]", '{"machine": 3}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / study_origin.NAME).write_text(text, "utf-8")
    with pytest.raises(Refused, match="not the origin"):
        study_origin.read(tmp_path)
