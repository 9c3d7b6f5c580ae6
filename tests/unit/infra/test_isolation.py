"""Variables that hold secrets are known by their names, and a child of ours does not get them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.definitions.without_secrets import run_without_secrets, secret_names
from infra.project_files import ROOT
from tests.support.command import lk, write_config

LEAKY = """
import os
from pathlib import Path

Path("{folder}/seen").write_text(Path("/proc/self/environ").read_text() + str(dict(os.environ)))
TOPIC = 1
"""


def test_secrets_are_known_by_their_names() -> None:
    names = [
        "LK_KAFKA_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "GITHUB_TOKEN",
        "API_KEY",
        "SSH_AUTH_SOCK",
    ]
    harmless = ["LK_KAFKA_PASSWORD_FILE", "PYSPARK_GATEWAY_SECRET", "PATH", "HOME", "LK_DATA", "KEYBOARD"]
    assert secret_names(dict.fromkeys([*names, *harmless], "x")) == sorted(names)


def test_without_secrets_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in secret_names(os.environ):
        monkeypatch.delenv(name)
    assert run_without_secrets(["--version"]) is None


def test_a_definition_file_that_looks_for_secrets_finds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "leaky.py").write_text(LEAKY.format(folder=tmp_path), "utf-8")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-show-me")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data"), "views": [str(tmp_path / "views")]})
    checked = lk(config, "views", "check", "--json")
    assert (checked.code, "leaky.py" in checked.out) == (1, True), checked.said
    seen = (tmp_path / "seen").read_text("utf-8")
    assert ("PATH=" in seen, "do-not-show-me" in seen) == (True, False)
    lk(config, "views", "--json")  # every other verb runs definition files in its own process
    assert "do-not-show-me" in (tmp_path / "seen").read_text("utf-8")
