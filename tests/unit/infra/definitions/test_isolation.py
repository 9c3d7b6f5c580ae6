"""`lk views check` runs definition files in a process that has no secrets and no network."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.definitions.isolation import leave_network, without_secrets
from infra.project_files import ROOT
from tests.support.command import lk, write_config

SNEAKY = """
import os, socket
from pathlib import Path

def reached(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError as e:
        return str(e)
    return "reached"

Path("{folder}/seen").write_text(Path("/proc/self/environ").read_text() + str(dict(os.environ)))
Path("{folder}/network").write_text(reached({port}))
os.write(2, b"\\x1b]0;mine\\x07")
terminal = [os.getsid(0) == os.getpid(), os.readlink("/proc/self/fd/0"), os.readlink("/proc/self/fd/1")]
Path("{folder}/terminal").write_text(repr(terminal))
TOPIC = 1
"""


def test_secrets_are_known_by_their_names() -> None:
    secrets = [
        "LK_KAFKA_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "GITHUB_TOKEN",
        "API_KEY",
        "SSH_AUTH_SOCK",
    ]
    harmless = ["LK_KAFKA_PASSWORD_FILE", "PYSPARK_GATEWAY_SECRET", "PATH", "HOME", "LK_DATA", "KEYBOARD"]
    assert list(without_secrets(dict.fromkeys([*secrets, *harmless], "x"))) == harmless


@pytest.fixture
def port() -> Iterator[int]:
    """A server of this machine, on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_definition_file_that_looks_for_secrets_and_servers_finds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int
) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "sneaky.py").write_text(SNEAKY.format(folder=tmp_path, port=port), "utf-8")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-show-me")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data"), "views": [str(tmp_path / "views")]})
    with config.open("a", encoding="utf-8") as file:
        file.write('[spark_conf]\n"spark.hadoop.fs.s3a.secret.key" = "nor-me"\n')
    checked = lk(config, "views", "check", "--json")
    assert (checked.code, "sneaky.py" in checked.out) == (1, True), checked.said
    seen = (tmp_path / "seen").read_text("utf-8")
    assert ("PATH=" in seen, "do-not-show-me" in seen, "nor-me" in seen) == (True, False, False)
    assert "refused" in (tmp_path / "network").read_text("utf-8")
    assert (tmp_path / "terminal").read_text("utf-8") == "[True, '/dev/null', '/dev/null']"
    assert ("\x1b" in checked.err, r"\x1b]0;mine" in checked.err) == (False, True)
    lk(config, "views", "--json")  # every other verb runs definition files in its own process
    assert "do-not-show-me" in (tmp_path / "seen").read_text("utf-8")
    assert (tmp_path / "network").read_text("utf-8") == "reached"


def test_where_the_network_cannot_be_left_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux refuses it to a process with threads."""
    hold = threading.Event()
    thread = threading.Thread(target=hold.wait)
    thread.start()
    try:
        assert leave_network() == "[Errno 22] Invalid argument"
    finally:
        hold.set()
        thread.join()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert leave_network() == "the Spark of spark-submit is in it"
