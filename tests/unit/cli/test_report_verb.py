"""`lk report`: which study it reads, what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra import measurement_files, study_files
from tests.support.command import here, write_config
from tests.support.examples.study_of_all_questions import study


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study as `lk study` leaves it: rows in two files, its origin, and an instance that is not a part of it."""
    rows = study()
    for number, part in enumerate((rows[:1_000], rows[1_000:])):
        measurement_files.write(tmp_path / ".study" / "rows" / f"{number}.parquet", part)
    (tmp_path / ".study" / "study.json").write_text(json.dumps({"machine": "a machine of two cores"}), "utf-8")
    (tmp_path / ".study" / "instance").mkdir()
    (tmp_path / ".study" / "instance" / "lake.parquet").write_bytes(b"rows of a view")
    return tmp_path / ".study"


def test_it_prints_the_answers_and_the_files(config: Path, folder: Path) -> None:
    lines = here(config, "report").ok().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:5]] == [
        "Append-only aggregates",
        "Joins",
        "Rules that change often",
        "Long history with short retention",
        "Late corrections",
    ]
    assert [line.removeprefix("wrote ") for line in lines[5:8]] == [
        ".report/report.html",
        ".report/raw.parquet",
        ".report/raw.csv",
    ]
    assert all(Path(line.removeprefix("wrote ")).is_file() for line in lines[5:])
    assert "a machine of two cores" in (folder.parent / ".report" / "report.html").read_text("utf-8")
    assert measurement_files.read(folder.parent / ".report" / "raw.parquet") == study()


def test_json_has_the_same(config: Path, folder: Path, tmp_path: Path) -> None:
    result = here(config, "report", "--study", str(folder), "--out", "elsewhere", "--json").ok().json
    assert result["page"] == "elsewhere/report.html"
    assert [each["mode"] for each in result["recommendations"]] == ["kappa", "lambda", "lambda", "lambda", "lambda"]
    assert result["recommendations"][2]["sentence"].startswith("Lambda: the time from a changed rule until corrected")


def test_without_option_it_reads_the_folder_of_studies(config: Path) -> None:
    refused = here(config, "report")
    assert refused.code == 1
    assert "there is no study" in refused.err
    assert "fix: run `lk study`, or name its folder with --study" in refused.err
    measurement_files.write(study_files.FOLDER / study_files.ROWS / "some.parquet", study())
    assert "wrote .report/report.html" in here(config, "report").ok().out
