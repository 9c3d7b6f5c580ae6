"""The local Airflow: all its processes under one parent, on loopback, with our DAGs and a generated password."""

from __future__ import annotations

import base64
import configparser
import io
import json
import os
import secrets
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from core.errors import TryAgain
from infra import airflow_api, extras
from infra.child_environment import child_environment
from infra.local.server_spec import Server
from infra.private_files import write_private
from infra.project_files import DAGS
from infra.settings import LOOPBACK, Settings

NAME = "airflow"
POOL = "lk_publish"
_LOCKED_FOR = 60  # seconds that one of its processes waits for another's write; after SQLite's five, a scheduler ends
_SUPERVISOR = Path(__file__).with_name("airflow_supervisor.py")


def server(settings: Settings) -> Server:
    """The Airflow of this instance, not started."""
    home = airflow_api.home(settings)
    return Server(
        name=NAME,
        # -I keeps this folder, whose modules are named like packages, out of the import path.
        argv=(sys.executable, "-I", str(_SUPERVISOR), POOL, str(logs(settings))),
        ports={"airflow_port": settings.airflow_port},
        prepare=lambda: _prepare(settings, home),
        probe=lambda: _probe(settings),
        env={"AIRFLOW_HOME": str(home), "PATH": os.pathsep.join([*_path(home), os.environ.get("PATH", os.defpath)])},
    )


def require_installed() -> None:
    """Raises Refused when the packages of the extra `airflow` are not installed."""
    extras.require("airflow", "airflow")


def launcher(settings: Settings) -> Path:
    """Path of the `lk` that comes first in the PATH of tasks: this code with the settings of this instance."""
    return airflow_api.home(settings) / "bin" / "lk"


def logs(settings: Settings) -> Path:
    """The folder of the logs of tasks."""
    return settings.log_dir / NAME


def _path(home: Path) -> tuple[str, str]:
    """Folders of `lk` and `airflow`."""
    return str(home / "bin"), str(Path(sys.executable).parent)


def _prepare(settings: Settings, home: Path) -> None:
    (home / "bin").mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    keys = _read_or_create(_keys_file(settings), _secrets)
    _read_or_create(airflow_api.password_file(settings), _new_login)
    write_private(home / "airflow.cfg", _config(settings, home, keys))
    # A file and not the environment: settings may hold a secret, and Airflow's own processes do not need them.
    write_private(launcher(settings), _script(settings), 0o700)


def renew_secrets(settings: Settings) -> None:
    """Makes the password and the keys of sessions anew, for the next start; no files where Airflow never started.

    The key of what its database encrypts stays: without it, connections and variables there could not be read.
    """
    login, keys = airflow_api.password_file(settings), _keys_file(settings)
    if keys.exists():
        kept = json.loads(keys.read_text("utf-8"))["fernet"]
        write_private(keys, json.dumps(_secrets() | {"fernet": kept}))
    if login.exists():
        write_private(login, json.dumps(_new_login()))


def _keys_file(settings: Settings) -> Path:
    return airflow_api.home(settings) / "secrets.json"


def _new_login() -> dict[str, str]:
    return {airflow_api.USER: secrets.token_urlsafe(18)}


def _secrets() -> dict[str, str]:
    key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    return {"fernet": key, "jwt": secrets.token_urlsafe(64), "api": secrets.token_urlsafe(32)}


def _read_or_create(path: Path, make: Callable[[], dict[str, str]]) -> dict[str, str]:
    """The content of a JSON file, which is created with ``make`` when it does not exist."""
    if not path.exists():
        write_private(path, json.dumps(make()))
    content: dict[str, str] = json.loads(path.read_text("utf-8"))
    return content


def _script(settings: Settings) -> str:
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in child_environment(settings).items())
    return f'#!/bin/sh\n{exports}exec {shlex.quote(sys.executable)} -m cli "$@"\n'


def _config(settings: Settings, home: Path, keys: dict[str, str]) -> str:
    url = f"http://{LOOPBACK}:{settings.airflow_port}"
    config = configparser.RawConfigParser()
    config.read_dict(
        {
            "core": {
                "dags_folder": DAGS,
                "executor": "LocalExecutor",
                "parallelism": 4,
                "load_examples": False,
                "dags_are_paused_at_creation": True,
                "fernet_key": keys["fernet"],
                "simple_auth_manager_users": f"{airflow_api.USER}:admin",
                "simple_auth_manager_passwords_file": airflow_api.password_file(settings),
                "execution_api_server_url": f"{url}/execution/",
                "hostname_callable": "socket.gethostname",
            },
            "database": {"sql_alchemy_conn": f"sqlite:///{home / 'airflow.db'}?timeout={_LOCKED_FOR}"},
            "api": {
                "host": LOOPBACK,
                "port": settings.airflow_port,
                "base_url": url,
                "workers": 1,
                "secret_key": keys["api"],
                "expose_config": False,
            },
            "api_auth": {"jwt_secret": keys["jwt"]},
            "logging": {"base_log_folder": logs(settings), "colored_console_log": False},
            "dag_processor": {"parsing_processes": 1, "dag_bundle_storage_path": home / "bundles"},
            "usage_data_collection": {"enabled": False},
        }
    )
    text = io.StringIO()
    config.write(text)
    return text.getvalue()


def _probe(settings: Settings) -> None:
    unhealthy = [name for name, status in airflow_api.health(settings).items() if status != "healthy"]
    if unhealthy:
        raise TryAgain(f"not healthy yet: {', '.join(unhealthy)}")
