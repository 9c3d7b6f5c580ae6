"""Airflow as a server of the stack: start time, memory, loopback only, password, secrets and typed parameters."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from infra import airflow_api
from infra.local import local_processes, local_stack
from infra.local.airflow_server import launcher
from tests.support.instances.airflow_runs import Cockpit
from tests.support.instances.world import World


def processes(world: World) -> list[psutil.Process]:
    recorded = local_processes.recorded(world.settings, "airflow")
    assert recorded
    return local_processes.process_tree(recorded.pid)


def listening_addresses(process: psutil.Process) -> list[tuple[str, int]]:
    """The addresses that a process listens on; empty when it has ended."""
    try:
        return [
            (connection.laddr.ip, connection.laddr.port)
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        ]
    except psutil.NoSuchProcess:
        return []


def secrets(world: World) -> list[str]:
    home = airflow_api.home(world.settings)
    files = [json.loads((home / name).read_text("utf-8")) for name in ("secrets.json", "passwords.json")]
    return [value for values in files for value in values.values()]


def status_code(url: str, headers: dict[str, str] | None = None) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as e:
        return e.code


def test_airflow_starts_within_two_minutes_and_takes_little_memory(
    cockpit: Cockpit, capsys: pytest.CaptureFixture[str]
) -> None:
    (state,) = [server for server in local_stack.server_states(cockpit.world.settings) if server.name == "airflow"]
    with capsys.disabled():
        print(f"\nAirflow was healthy after {cockpit.seconds:.1f} s and takes {state.memory / 2**20:.0f} MiB")
    assert state.status == "up"
    assert state.address == f"127.0.0.1:{cockpit.world.settings.airflow_port}"
    assert cockpit.seconds <= 120  # another test process may run beside it; the demo measures it alone
    assert state.memory <= 1.5 * 2**30


def test_it_listens_on_loopback_only(world: World) -> None:
    addresses = {address for process in processes(world) for address in listening_addresses(process)}
    assert addresses == {("127.0.0.1", world.settings.airflow_port)}


def test_without_a_password_every_request_is_refused(world: World) -> None:
    url = airflow_api.url(world.settings)
    for path in ("dags", "dags/rollback/dagRuns", "pools", "config", "assets/events", "variables"):
        assert status_code(f"{url}/api/v2/{path}") == 401, path
    assert status_code(f"{url}/api/v2/dags", {"Authorization": "Bearer x"}) in (401, 403)
    assert status_code(f"{url}/auth/token") in (401, 403, 405)
    token = {"Authorization": f"Bearer {airflow_api.token(world.settings)}"}
    assert (status_code(f"{url}/api/v2/dags", token), status_code(f"{url}/api/v2/config", token)) == (200, 403)


def test_secrets_are_in_files_of_their_owner_and_nowhere_else(world: World) -> None:
    home = airflow_api.home(world.settings)
    private = [home / "airflow.cfg", home / "secrets.json", airflow_api.password_file(world.settings)]
    assert [path.stat().st_mode & 0o777 for path in private] == [0o600] * 3
    assert launcher(world.settings).with_name("lk.real").stat().st_mode & 0o777 == 0o700
    assert home.stat().st_mode & 0o777 == 0o700
    texts = ["\0".join(process.cmdline()) for process in processes(world)]
    texts += [text for process in processes(world) if (text := environment(process))]
    texts += [path.read_text("utf-8", "replace") for path in logs(world)]
    assert len(texts) > 10
    assert [secret[:3] for secret in secrets(world) if any(secret in text for text in texts)] == []


def environment(process: psutil.Process) -> str:
    try:
        return "\0".join(process.environ().values())
    except psutil.Error:
        return ""


def logs(world: World) -> list[Path]:
    return [path for path in world.settings.log_dir.rglob("*") if path.is_file()]


def test_the_pool_of_publications_has_one_slot(cockpit: Cockpit) -> None:
    pool = cockpit.api.get("pools", "lk_publish")
    assert (pool["slots"], pool["include_deferred"]) == (1, False)


def test_parameters_are_typed_and_bounded(cockpit: Cockpit) -> None:
    invalid: list[tuple[str, dict[str, object]]] = [
        ("kappa_reprocess", {"run": "r1; rm -rf /"}),
        ("kappa_reprocess", {"run": "../x"}),
        ("kappa_reprocess", {"rate": 0}),
        ("kappa_reprocess", {"rate": "1"}),
        ("kappa_reprocess", {"views": ["--help"]}),
        ("kappa_reprocess", {"views": "trades_by_day"}),
        ("kappa_reprocess", {"on_failure": "drop"}),
        ("kappa_reprocess", {"approval": "no"}),
        ("rollback", {"why": "two\nlines"}),
        ("rollback", {"why": "x" * 201}),
        ("housekeeping", {"retire": "R1"}),
        ("range_rebuild", {"views": ["a", "a"]}),
        ("lambda_batch", {"incremental": 1}),
    ]
    runs_before = {dag: len(cockpit.api.runs(dag)) for dag, _ in invalid}
    for dag, conf in invalid:
        with pytest.raises(Exception, match="400"):
            cockpit.api.trigger(dag, conf)
    assert {dag: len(cockpit.api.runs(dag)) for dag in runs_before} == runs_before
