"""The machine, the versions and the command of a study, from the file beside its rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from core.errors import Refused
from core.evidence.origin import Origin
from flows.study.run_study import ABOUT, StudyAbout
from infra import study_origin

ABOUT_IT = StudyAbout("lk study", "a machine", "Python 3.11", "2026-11-27T09:00+00:00")


def test_it_is_what_the_study_wrote_into_its_folder(tmp_path: Path) -> None:
    (tmp_path / ABOUT).write_text(json.dumps(asdict(ABOUT_IT)), "utf-8")
    assert study_origin.read(tmp_path) == Origin("a machine", "Python 3.11", "lk study")


def test_a_file_of_rows_has_it_beside(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps(asdict(ABOUT_IT)), "utf-8")
    assert study_origin.read(tmp_path / "study.parquet").machine == "a machine"


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert study_origin.read(tmp_path) == Origin()


@pytest.mark.parametrize("text", ["", "[]", '{"machine": 3}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ABOUT).write_text(text, "utf-8")
    with pytest.raises(Refused, match="not the origin"):
        study_origin.read(tmp_path)
