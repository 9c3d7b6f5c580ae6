"""An instance whose servers ask for passwords: its keys, and who uses them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import psutil
import pytest
import requests

from core.errors import Refused
from infra.kafka import acls, kafka_admin
from infra.kafka.client_config import as_principal
from infra.local import local_stack
from infra.local.secured import certificates, users
from infra.private_files import write_private
from infra.project_files import VIEWS
from infra.retry import retry_on
from infra.settings import Settings
from infra.settings.local_secrets import BROKER, FOLDER, LocalSecrets
from infra.trino.query_reports import key_file
from tests.support.command import Done, here, lk
from tests.support.faults.leaks import ANY_KEY, keys
from tests.support.oracle.view_oracle import Record
from tests.support.records.kafka_log import Sent, send
from tests.support.waiting import eventually

# Characters that Java's login configuration must escape; another test of this machine has another one.
PASSWORD = f'qu"ote\\d-pass-word-{token_hex(8)}'
EVENTS = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}


@dataclass(frozen=True)
class Secured:
    """The settings of an instance whose servers ask for passwords, their file, and when it was set up (in seconds)."""

    settings: Settings
    config: Path
    began: float

    @property
    def secrets(self) -> LocalSecrets:
        """Its keys and passwords."""
        return LocalSecrets(self.settings.data / FOLDER)

    def trino_password(self, user: str) -> str:
        """The password of a user of Trino."""
        return self.secrets.trino_password(user).read_text("utf-8")

    def trino_session(self, login: tuple[str, str] | None) -> requests.Session:
        """A session of HTTP that trusts the instance's authority and sends this user name and password."""
        session = requests.Session()
        session.trust_env, session.verify, session.auth = False, str(self.secrets.ca), login  # no REQUESTS_CA_BUNDLE
        return session

    def lk(self, *words: str) -> Done:
        """Runs a verb in a process of its own."""
        return lk(self.config, *words)

    def here(self, *words: str) -> Done:
        """Runs a verb in this process."""
        return here(self.config, *words)


def route_files(folder: Path) -> Path:
    """A folder with the definition of a route."""
    files = folder / "views"
    files.mkdir()
    for name in ("service_log", "log_split"):
        shutil.copy(VIEWS / "programs" / f"{name}.py", files)
    return files


def all_passwords(instance: Secured) -> list[str]:
    """Every password of the instance, and what its keys have in common."""
    files = [instance.secrets.page_password, instance.secrets.metrics_password, key_file(instance.settings)]
    files += [file for name in ("kafka", "trino") for file in sorted((instance.secrets.folder / name).iterdir())]
    assert len(files) == 16
    return [*(file.read_text("utf-8") for file in files), *keys(instance.secrets.folder), ANY_KEY]


def listening(settings: Settings) -> dict[str, list[str]]:
    """The addresses at which each process of an instance and its children listen; fails unless all are on loopback."""
    addresses = {}
    for state in local_stack.server_states(settings):
        assert state.pid, state
        parent = psutil.Process(state.pid)
        processes = [parent, *parent.children(recursive=True)]
        sockets = [socket for process in processes for socket in process.net_connections("inet")]
        addresses[state.name] = [socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN]
        assert set(addresses[state.name]) <= {"127.0.0.1", "::ffff:127.0.0.1"}, state.name
    return addresses


def repair(instance: Secured, record: Record, file: Path) -> None:
    """Sends a record with a broken end, and redrives it as it was."""
    send(as_principal(instance.settings, BROKER), [Sent(record.topic, record.key, (record.value or b"") + b"}")])

    def quarantined() -> None:
        assert len(instance.here("quarantine", "list", "--json").ok().json) == 1

    eventually(instance.settings, 60, quarantined)
    instance.here("quarantine", "export", str(file), "--json").ok()
    broken = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(broken | {"value": broken["value"].removesuffix("}")}) + "\n", "utf-8")
    assert instance.here("quarantine", "redrive", str(file), "--json").ok().json["sent"] == 1


def external(instance: Secured, folder: Path) -> dict[str, str]:
    """The settings of a client that reaches the brokers as a cluster."""
    return {
        "bootstrap": instance.settings.bootstrap_servers,
        "kafka_security": "sasl_ssl",
        "kafka_user": "producer",
        "kafka_password_file": str(instance.secrets.kafka_password("producer")),
        "kafka_ca": str(instance.secrets.ca),
        "data": str(folder / "data"),
    }


def another_ca(folder: Path) -> str:
    other = LocalSecrets(folder / "other")
    certificates.write_authority(other)
    certificates.write_server(other, "a server")
    return other.ca.read_text("utf-8")


def plant_former_user(instance: Secured) -> Settings:
    """A user with a password and a right that an earlier ``access.toml`` named; returns the settings of its login."""
    own, former = as_principal(instance.settings, BROKER), as_principal(instance.settings, "former")
    write_private(instance.secrets.kafka_password("former"), "former-pass-word")
    users.set_kafka_passwords(own, {"former": b"former-pass-word"})
    acls.apply_rights(own, (acls.Right("former", "topic", "*", "DESCRIBE"),))
    retry_on(Refused, lambda: kafka_admin.end_offsets(former, ["trades"]), 20, every=0.1)  # brokers learn of it late
    return former


def require_gone(instance: Secured, former: Settings) -> None:
    file = instance.secrets.kafka_password("former")
    assert not file.exists()
    write_private(file, "former-pass-word")
    with pytest.raises(Refused, match="Authentication failed"):
        kafka_admin.end_offsets(former, ["trades"])
    file.unlink()
    assert acls.withdraw_rights(as_principal(instance.settings, BROKER), ["former"]) == 0
