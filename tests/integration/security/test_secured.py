"""`lk up --secured`: from `produce` to the served views with passwords everywhere, which are only in their files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import requests
from pyspark.sql import SparkSession

from core.errors import Refused
from core.identifiers import Name
from infra import airflow_api
from infra.kafka import kafka_admin
from infra.kafka.client_config import as_principal
from infra.local import airflow_server, local_stack, ui_server
from infra.local.secured import users
from infra.private_files import write_private
from infra.settings.local_secrets import BROKER
from infra.settings.sources import read_settings
from infra.trino.client import query
from tests.conftest import fresh_settings
from tests.support.checks import trino_cells
from tests.support.checks.tried_rights import TriedRights
from tests.support.checks.trino_cells import TrinoCells
from tests.support.command import here, lk, write_config
from tests.support.faults.leaks import ANY_KEY, leaks, shared_folders
from tests.support.instances.committed_log import wait_until_committed
from tests.support.instances.secured_instance import (
    EVENTS,
    PASSWORD,
    Secured,
    all_passwords,
    another_ca,
    external,
    listening,
    plant_former_user,
    repair,
    require_gone,
    route_files,
)
from tests.support.oracle import view_oracle
from tests.support.records.kafka_log import Log
from tests.support.waiting import eventually

# The role => the user who has a password. The publisher comes last: it drops what the others may not.
TRINO_USERS = {"engineer": "engineer", "admin": "admin", "analyst": "reader", "publisher": "lk"}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    fresh = fresh_settings(folder / "data")
    # The event log holds what Spark's web UI would show.
    events = {"spark_conf": json.dumps(EVENTS | {"spark.eventLog.dir": f"file://{folder}/data/logs"})}
    values = events | {"views": [str(route_files(folder))]}
    config = write_config(folder / "lk.toml", fresh.model_dump(mode="json", exclude_defaults=True) | values)
    secured = Secured(read_settings(config), config, time.time())
    try:
        write_private(users.make_secrets(secured.settings).kafka_password("speed"), PASSWORD)
        (folder / "data" / "logs").mkdir()
        secured.here("up", "--secured", "--json").ok()
        yield secured
    finally:
        local_stack.stop_servers(secured.settings)


def test_records_go_from_produce_to_what_is_served(instance: Secured, spark: SparkSession, tmp_path: Path) -> None:
    instance.here("produce", "trades", "--seed", "7", "--count", "500", "--start", "2026-03-14T12:00:00", "--json").ok()
    instance.lk("speed", "start", "--json").ok()
    log = Log(as_principal(instance.settings, BROKER), ["trades"])
    expected = view_oracle.expected("trades_by_day", log.read())
    assert len(log.records) == 500

    wait_until_committed(log.settings, Name("r000001"), ["trades"])

    def served() -> None:
        rows = instance.here("show", "trades_by_day", "--json").ok().json
        assert [(row["ticker"], row["trades"]) for row in rows] == [
            (key[0], cells["trades"]) for key, cells in sorted(expected.items())
        ]

    eventually(instance.settings, 120, served)
    status = instance.here("status", "--json")
    assert status.code == 0, status.said
    repair(instance, log.records[0], tmp_path / "repaired.jsonl")
    instance.here("batch", "--json").ok()
    instance.lk("route", "start", "log_split", "--json").ok()
    sockets = listening(instance.settings)
    assert {"kafka", "trino", "ui", "speed-r000001"} < sockets.keys()
    assert all(addresses for addresses in sockets.values()), (
        "each of them listens: Spark for its executors and for Python"
    )
    instance.lk("route", "stop", "log_split", "--json").ok()
    data, passwords = instance.settings.data, all_passwords(instance)
    assert PASSWORD in passwords
    assert not [text for text in passwords if text in status.out + status.err]
    assert list(data.glob("logs/*speed-*"))
    events = [path for path in data.glob("logs/eventlog*/*") if b"SQLExecutionStart" in path.read_bytes()]
    assert events, "Spark's event log, which is what its pages show, has no query"
    assert leaks(instance.settings, passwords, instance.began) == []
    with ExitStack() as planted_files:
        shared = shared_folders(instance.settings)
        folders = [data, *(folder for folder in shared if folder.is_dir())]
        files = [Path(planted_files.enter_context(TemporaryDirectory(dir=folder)), "planted") for folder in folders]
        for file in files:
            file.write_text(f"password={PASSWORD}", "utf-8")
        assert sorted(leaks(instance.settings, passwords, instance.began)) == sorted(map(str, files))
    planted = os.environ | {"LK_DATA": str(data), "PLANTED": PASSWORD}  # as of `lk ui`, whose arguments name no folder
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=planted) as child:
        assert [PASSWORD in line for line in leaks(instance.settings, passwords, instance.began)] == [True]
        child.communicate(b"\n")
    instance.lk("speed", "stop", "--json").ok()


def test_all_that_the_instance_keeps_is_its_users_alone(instance: Secured) -> None:
    folders = [instance.secrets.folder, *(path for path in instance.secrets.folder.rglob("*") if path.is_dir())]
    files = [path for path in instance.secrets.folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_every_socket_is_on_loopback(instance: Secured) -> None:
    """Without a run; `test_records_go_from_produce_to_what_is_served` looks at all of them with one."""
    assert sorted(listening(instance.settings)) == ["kafka", "trino", "ui"]


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
    """As a client elsewhere, whose settings name the brokers, a user and a password file."""
    values = external(instance, tmp_path)
    for key, text in changed.items():
        file = tmp_path / key
        file.write_text(another_ca(tmp_path) if key == "kafka_ca" else text, "utf-8")
        values[key] = str(file)
    command = lk(
        write_config(tmp_path / "lk.toml", values), "produce", "trades", "--seed", "1", "--count", "1", "--json"
    )
    assert (command.code, says in command.json["error"]) == (1, True), command.said
    assert "kafka_password_file" in command.json["fix"]
    assert "pass-word" not in command.said


def test_a_client_elsewhere_sends_with_its_settings(instance: Secured, tmp_path: Path) -> None:
    config = write_config(tmp_path / "lk.toml", external(instance, tmp_path))
    assert here(config, "produce", "trades", "--seed", "1", "--count", "0", "--json").ok().json["sent"] == 0


def test_without_a_password_no_connection_is_tried(instance: Secured, tmp_path: Path) -> None:
    values = external(instance, tmp_path)
    command = lk(write_config(tmp_path / "a.toml", values | {"kafka_password_file": "/none"}), "topics", "--json")
    assert (command.code, "cannot be read" in command.json["error"]) == (1, True), command.said
    del values["kafka_password_file"]
    command = lk(write_config(tmp_path / "b.toml", values), "topics", "--json")
    assert (command.code, command.json["where"]) == (1, "LK_KAFKA_PASSWORD"), command.said
    assert "LK_KAFKA_PASSWORD" not in os.environ


def test_trino_refuses_a_wrong_password_and_none(instance: Secured) -> None:
    own, engineer = instance.settings, {"trino_user": "engineer", "trino_reader": "engineer"}
    address = {"trino_host": "127.0.0.1", "trino_tls": True, "trino_ca": instance.secrets.ca}
    elsewhere = own.model_copy(update=engineer | address)
    file = "trino_reader_password_file"
    right, wrong = (instance.secrets.trino_password(user) for user in ("engineer", "reader"))
    assert query(elsewhere.model_copy(update={file: right}), "SELECT 1").rows == ((1,),)
    for password in (None, wrong):
        with pytest.raises(Refused, match="Trino rejected the password of user engineer"):
            query(elsewhere.model_copy(update={file: password}), "SELECT 1")
    with pytest.raises(Refused, match="the password of Trino user nobody cannot be read"):
        query(own.model_copy(update={"trino_user": "nobody"}), "SELECT 1")


@pytest.mark.parametrize("user", TRINO_USERS.values())
def test_trino_takes_a_name_only_with_its_own_password(instance: Secured, user: str) -> None:
    own = instance.trino_password(user)
    logins: dict[str, tuple[str, str] | None] = {"none": None, "its own": (user, own), "a wrong one": (user, f"{own}x")}
    logins |= {f"as {other}": (other, own) for other in TRINO_USERS.values() if other != user}
    codes, statements = {}, f"{instance.settings.trino_url}/v1/statement"
    for name, login in logins.items():
        with instance.trino_session(login) as session:
            session.headers["X-Trino-User"] = login[0] if login else user
            codes[name] = session.post(statements, data=b"SELECT 1", timeout=10).status_code
    assert codes == dict.fromkeys(logins, 401) | {"its own": 200}


@pytest.mark.parametrize("user", TRINO_USERS.values())
def test_a_user_of_trino_acts_as_no_other(instance: Secured, user: str) -> None:
    def answer(as_user: str) -> tuple[Any, str]:
        """The rows of a query, and its error."""
        with instance.trino_session((user, instance.trino_password(user))) as session:
            session.headers["X-Trino-User"] = as_user
            statements = f"{instance.settings.trino_url}/v1/statement"
            document, rows = session.post(statements, data=b"SELECT current_user", timeout=10).json(), []
            while "nextUri" in document:
                document = session.get(document["nextUri"], timeout=10).json()
                rows += document.get("data", [])
            return rows, document.get("error", {}).get("message", "")

    assert answer(user) == ([[user]], "")
    for as_user in (*TRINO_USERS.values(), "nobody"):
        refusal = f"Access Denied: User {user} cannot impersonate user {as_user}"
        assert as_user == user or answer(as_user) == ([], refusal)


def test_every_cell_of_trino_is_with_passwords_as_without(instance: Secured) -> None:
    tried = TriedRights("what was tried in Trino", tuple(TRINO_USERS))
    cells = TrinoCells(instance.settings, TRINO_USERS, tried)
    trino_cells.plant_cells(instance.settings)
    for group in trino_cells.GROUPS:
        for role in TRINO_USERS:
            group(cells, role)
    with trino_cells.heavy_query(cells, "analyst") as first:
        trino_cells.try_kill(cells, "engineer", first)
        with trino_cells.heavy_query(cells, "engineer") as second:
            for role, query in {"analyst": second, "publisher": second, "admin": first}.items():
                trino_cells.try_kill(cells, role, query)
    tried.require_as_in_page()


def test_the_live_page_asks_for_its_password(instance: Secured) -> None:
    def status_of(path: str, password: str | None) -> int:
        login = ("anyone", password) if password is not None else None
        return requests.get(f"{ui_server.url(instance.settings)}{path}", auth=login, timeout=10).status_code

    right = instance.secrets.page_password.read_text("utf-8")
    for path in ("/", "/metrics", "/page.json"):
        assert {password: status_of(path, password) for password in (None, "wrong", right)} == {
            None: 401,
            "wrong": 401,
            right: 200,
        }
    of_metrics = instance.secrets.metrics_password.read_text("utf-8")
    paths = ("/metrics", "/", "/page.json", "/trace/trades/0/0", "/static/live.css")
    assert [status_of(path, of_metrics) for path in paths] == [200, 401, 401, 401, 401]
    assert status_of("/health", None) == 200


def test_rotate_renews_every_password_and_what_was_served_stays(instance: Secured) -> None:
    own = as_principal(instance.settings, BROKER)
    size = kafka_admin.end_offsets(own, ["trades"]).size
    before, rows = all_passwords(instance), instance.here("show", "trades_by_day", "--json").ok().json
    former = plant_former_user(instance)
    file = instance.secrets.kafka_password("monitor")
    old_password = file.read_text("utf-8")
    airflow_server.server(instance.settings).prepare()  # the files of its first start
    of_airflow = airflow_api.password_file(instance.settings).read_text("utf-8")
    rotation = instance.here("rotate", "--json").ok().json
    assert airflow_api.password_file(instance.settings).read_text("utf-8") != of_airflow
    assert sorted(server["name"] for server in rotation["servers"] if server["status"] == "up") == [
        "kafka",
        "trino",
        "ui",
    ]
    assert set(before) & set(all_passwords(instance)) == {ANY_KEY}
    assert instance.here("show", "trades_by_day", "--json").ok().json == rows
    require_gone(instance, former)
    monitor, new_password = as_principal(instance.settings, "monitor"), file.read_text("utf-8")
    write_private(file, old_password)
    with pytest.raises(Refused, match="Authentication failed"):
        kafka_admin.end_offsets(monitor, ["trades"])
    write_private(file, new_password)
    assert (
        kafka_admin.end_offsets(monitor, ["trades"]).size == size == 502
    )  # with the repaired record, and as it was before
