"""Errors of libraries are said in one line, with what to do; the others keep their name."""

from __future__ import annotations

import errno
from pathlib import Path

import click
import pytest
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JNetworkError

from cli import root


@pytest.mark.parametrize(
    ("error", "code", "what"),
    [
        (Py4JNetworkError("Answer from Java side is empty"), 75, "lk: the Java process of Spark ended"),
        (OSError(errno.ENOSPC, "No space left on device"), 75, "lk: the disk is full: [Errno 28]"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 1, "lk: not allowed: [Errno 13]"),
        (
            DeltaError("Invalid JSON in log\nat line 3"),
            75,
            "lk: a Delta table cannot be read or written: Invalid JSON in",
        ),
        (KeyError("lost"), 1, "lk: unexpected KeyError: 'lost'"),
    ],
)
def test_an_error_of_a_library_says_what_to_do(
    error: Exception,
    code: int,
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path))
    monkeypatch.setitem(root.lk.commands, "fail", fail)
    assert root.run(["fail"]) == code
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(what)
    assert said[2].startswith("  fix: ")
    assert str(tmp_path / "lk-errors.log") in said[1]
    assert "Traceback" in (tmp_path / "lk-errors.log").read_text("utf-8")


def test_an_error_is_logged_where_the_home_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")

    @click.command()
    def fail() -> None:
        raise KeyError("lost")

    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path / "file" / "folder"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setitem(root.lk.commands, "fail", fail)
    assert root.run(["fail"]) == 1
    (log,) = tmp_path.glob("lk-errors-*.log")
    assert str(log) in capsys.readouterr().err
    assert "Traceback" in log.read_text("utf-8")
