"""The file of lineage events has whole lines only, and stays bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage.client.event_v2 import Job, Run, RunEvent

from core.errors import Usage
from infra.lineage.transports import Outbox, append_line
from infra.project_files import ROOT
from infra.settings.sources import read_settings


def test_a_file_that_would_grow_too_large_becomes_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    for number in range(7):
        append_line(file, f"line {number}", 21)  # three lines of seven bytes
    assert file.read_text("utf-8") == "line 6\n"
    assert (tmp_path / "events.jsonl.1").read_text("utf-8") == "line 3\nline 4\nline 5\n"
    assert {path.name for path in tmp_path.iterdir()} == {"events.jsonl", "events.jsonl.1", "events.jsonl.lock"}


def test_processes_that_append_at_once_lose_and_break_no_line(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    program = (
        "import sys; from pathlib import Path; from infra.lineage.transports import append_line;"
        "[append_line(Path(sys.argv[1]), sys.argv[2] * 5000, 10**9) for _ in range(40)]"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(file), letter], cwd=ROOT) for letter in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    lines = file.read_text("utf-8").splitlines()
    assert sorted(set(lines)) == ["a" * 5000, "b" * 5000, "c" * 5000]
    assert len(lines) == 120


def test_half_a_line_on_a_full_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "events.jsonl"
    append_line(file, "whole", 1000)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    with pytest.raises(OSError, match="the disk is full"):
        append_line(file, "second", 1000)
    assert file.read_text("utf-8") == "whole\n"


def test_what_a_server_answers_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: object) -> None:
        raise OSError("403 \x1b[2J\nforged line")

    box = Outbox(refuse, "http://marquez")
    at = "2026-03-14T12:00:00+00:00"
    box.add(RunEvent(eventTime=at, run=Run(runId="0198a1a0-0000-7000-8000-000000000000"), job=Job("lk", "land")))
    box.wait()
    expected = r"lk: warning: lineage events are lost, http://marquez: OSError: 403 \x1b[2J\nforged line"
    assert capsys.readouterr().err.splitlines() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://marquez:5000", "http://marquez:5000/"),
        ("https://datahub:8080/openapi/openlineage/", "https://datahub:8080/openapi/openlineage/"),
        ("/var/log/events.jsonl", "/var/log/events.jsonl"),
    ],
)
def test_a_receiver_is_a_url_or_a_file(monkeypatch: pytest.MonkeyPatch, text: str, expected: str) -> None:
    monkeypatch.setenv("LK_LINEAGE_URL", text)
    assert read_settings().lineage_url == expected


@pytest.mark.parametrize("text", ["http://ada:secret@marquez:5000", "ftp://marquez", "https://", "http://a b"])
def test_another_receiver_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LK_LINEAGE_URL", text)
    with pytest.raises(Usage, match="must be an http or https URL without a login, or a file"):
        read_settings()
