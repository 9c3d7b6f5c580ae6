"""Kafka over TLS with SCRAM: from `produce` to the served views; the password is only in its file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from infra.local import local_stack
from infra.local.ports import free_ports
from infra.settings import LOOPBACK, Settings
from infra.settings.sources import read_settings
from tests.conftest import fresh_settings
from tests.support import secured
from tests.support.command import Done, here, lk, write_config
from tests.support.kafka_log import Log
from tests.support.oracle import view_oracle
from tests.support.waiting import eventually

PASSWORD = 'qu"ote\\d-pass-word'  # characters that Java's login configuration must escape
USER = "speed"
EVENTS = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}


@dataclass(frozen=True)
class Secured:
    """The settings of an instance whose Kafka needs a password, and the broker's own settings."""

    settings: Settings
    broker: Settings
    config: Path

    def lk(self, *words: str) -> Done:
        """Runs a verb in a process of its own."""
        return lk(self.config, *words)

    def here(self, *words: str) -> Done:
        """Runs a verb in this process."""
        return here(self.config, *words)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    broker = fresh_settings(folder / "broker").model_copy(update={"trino_host": LOOPBACK})
    port, trino = free_ports(2)
    (folder / "password").write_text(f"{PASSWORD}\n", "utf-8")
    broker.run_dir.mkdir(parents=True)
    try:
        ca = secured.start(broker, port, USER, PASSWORD)
        config = write_config(
            folder / "lk.toml",
            {
                "data": str(folder / "data"),
                "bootstrap": f"{LOOPBACK}:{port}",
                "kafka_security": "sasl_ssl",
                "kafka_user": USER,
                "kafka_password_file": str(folder / "password"),
                "kafka_ca": str(ca),
                "trino_port": trino,
                # The event log holds what Spark's web UI would show.
                "spark_conf": json.dumps(EVENTS | {"spark.eventLog.dir": f"file://{folder}/data/logs"}),
            },
        )
        local_stack.start_servers(read_settings(config))
        yield Secured(read_settings(config), broker, config)
    finally:
        local_stack.stop_servers(Settings(data=folder / "data"))
        local_stack.stop_servers(broker)


def content(path: Path) -> bytes:
    """The content of a file. Empty if it is not a file or a running job has deleted it."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""


def leaks(folder: Path, secret: str) -> list[str]:
    """The files and process arguments that hold a secret, in plain or escaped form."""
    forms = [form.encode() for form in (secret, secret.replace("\\", "\\\\").replace('"', '\\"'), "pass-word")]
    # Not rglob: it fails when a job that ends deletes a folder of temporary files.
    paths = sorted(Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    files = [str(path) for path in paths if any(form in content(path) for form in forms)]
    running = [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or [])]
    command_lines = [" ".join(process.info["cmdline"]) for process in running]
    return files + [line for line in command_lines if any(form.decode() in line for form in forms)]


def test_records_go_from_produce_to_what_is_served(instance: Secured, spark: SparkSession) -> None:
    applied = instance.here("topics", "apply", "--json").ok().json
    assert [change["action"] for change in applied] == ["created", "created"]
    instance.here("produce", "trades", "--seed", "7", "--count", "500", "--start", "2026-03-14T12:00:00", "--json").ok()
    instance.lk("speed", "start", "--json").ok()
    log = Log(instance.settings, ["trades"])
    expected = view_oracle.expected("trades_by_day", log.read())
    assert len(log.records) == 500

    def served() -> None:
        rows = instance.here("show", "trades_by_day", "--json").ok().json
        assert [(row["ticker"], row["trades"]) for row in rows] == [
            (key[0], cells["trades"]) for key, cells in sorted(expected.items())
        ]

    eventually(instance.settings, 120, served)
    status = instance.here("status", "--json")
    assert status.code == 0, status.said
    instance.here("claim", "--json").ok()
    instance.here("land", "--json").ok()
    assert "pass-word" not in status.out + status.err
    data = instance.settings.data
    assert list(data.glob("logs/*speed-*"))
    events = [path for path in data.glob("logs/eventlog*/*") if b"SQLExecutionStart" in path.read_bytes()]
    assert events, "Spark's event log, which is what its pages show, has no query"
    assert leaks(data, PASSWORD) == []
    (data / "planted").write_text(f"password={PASSWORD}", "utf-8")
    assert leaks(data, PASSWORD) == [str(data / "planted")]
    instance.lk("speed", "stop", "--json").ok()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"kafka_password_file": "wrong-pass-word"}, "Authentication failed"),
        ({"kafka_ca": "another CA"}, "certificate verify failed"),
    ],
)
def test_untrusted_credentials_are_refused_with_the_reason(
    instance: Secured, tmp_path: Path, changed: dict[str, str], says: str
) -> None:
    values = {key: getattr(instance.settings, key) for key in ("bootstrap", "kafka_user", "kafka_security")}
    values |= {key: str(getattr(instance.settings, key)) for key in ("kafka_password_file", "kafka_ca", "data")}
    for key, text in changed.items():
        file = tmp_path / key
        file.write_text(_another_ca(tmp_path) if key == "kafka_ca" else text, "utf-8")
        values[key] = str(file)
    command = lk(
        write_config(tmp_path / "lk.toml", values), "produce", "trades", "--seed", "1", "--count", "1", "--json"
    )
    assert (command.code, says in command.json["error"]) == (1, True), command.said
    assert "kafka_password_file" in command.json["fix"]
    assert "pass-word" not in command.said


def _another_ca(folder: Path) -> str:
    return secured.certificates(folder)[0].read_text("utf-8")


def test_without_a_password_no_connection_is_tried(instance: Secured, tmp_path: Path) -> None:
    nowhere = {"kafka_password_file": str(tmp_path / "none")}
    values = {"bootstrap": instance.settings.bootstrap, "kafka_user": USER, "kafka_security": "sasl_ssl"}
    command = lk(write_config(tmp_path / "a.toml", values | nowhere), "topics", "apply", "--json")
    assert (command.code, "cannot be read" in command.json["error"]) == (1, True), command.said
    command = lk(write_config(tmp_path / "b.toml", values), "topics", "apply", "--json")
    assert (command.code, command.json["where"]) == (1, "LK_KAFKA_PASSWORD"), command.said
    assert "LK_KAFKA_PASSWORD" not in os.environ
