"""Errors of libraries are said in one line, with what to do; the others keep their name."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from confluent_kafka import KafkaError, KafkaException
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from cli import root
from infra import error_report, library_errors


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
        (
            KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)),
            1,
            "lk: Kafka does not allow this: KafkaError{",
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
    stderr_lines = capsys.readouterr().err.splitlines()
    assert stderr_lines[0].startswith(what)
    assert stderr_lines[2].startswith("  fix: ")
    assert str(tmp_path / "lk-errors.log") in stderr_lines[1]
    assert "Traceback" in (tmp_path / "lk-errors.log").read_text("utf-8")


@pytest.mark.parametrize("error", [ConnectionRefusedError(errno.ECONNREFUSED, "refused"), Py4JError("while calling")])
def test_a_java_process_that_ended_under_a_verb_is_said_in_one_line(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is that of the next call, which finds nobody."""

    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path))
    monkeypatch.setattr(library_errors, "_SECONDS_TO_END", 0.1)
    monkeypatch.setitem(root.lk.commands, "fail", fail)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as java:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
        assert root.run(["fail"]) == 1
        java.kill()
        java.wait()
        assert root.run(["fail"]) == 75
    stderr_lines = capsys.readouterr().err.splitlines()
    assert stderr_lines[0].startswith(f"lk: unexpected {type(error).__name__}")
    assert stderr_lines[3] == "lk: the Java process of Spark ended; it may have been out of memory"
    assert [line[:8] for line in stderr_lines[4:]] == ["  where:", "  fix: r"]


def test_a_report_that_cannot_be_written_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """/dev/full takes no byte, as a full disk."""
    (tmp_path / "lk-errors.log").symlink_to("/dev/full")

    @click.command()
    def fail() -> None:
        raise KeyError("lost")

    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path))
    monkeypatch.setitem(root.lk.commands, "fail", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "other"))
    assert root.run(["fail"]) == 1
    stderr_lines = capsys.readouterr().err.splitlines()
    assert stderr_lines[0] == "lk: unexpected KeyError: 'lost'"
    assert stderr_lines[1].startswith("  where: the stack trace could not be written: [Errno 2]")
    (tmp_path / "other").mkdir()
    assert root.run(["fail"]) == 1
    (log,) = (tmp_path / "other").glob("lk-errors-*.log")
    assert f"the stack trace is in {log}" in capsys.readouterr().err
    assert "KeyError" in log.read_text("utf-8")


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


def test_reports_in_the_folder_for_temporary_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path / "file" / "folder"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answers = [error_report.write_report(KeyError(f"number {n}")) for n in range(50)]
    logs = list(tmp_path.glob("lk-errors-*.log"))
    assert len(logs) == 20
    assert answers[-1] in {f"the stack trace is in {log}" for log in logs}
    assert not [log for log in logs if "number 0'" in log.read_text("utf-8")]


def test_a_large_log_of_reports_is_replaced_and_the_one_before_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path))
    monkeypatch.setattr(error_report, "_LARGEST_LOG", 1_000)
    for n in range(100):
        error_report.write_report(KeyError(f"number {n}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lk-errors.log", "lk-errors.log.1"]
    assert all(path.stat().st_size < 2_000 for path in tmp_path.iterdir())
    assert "number 99'" in (tmp_path / "lk-errors.log").read_text("utf-8")
