"""A client of Airflow's REST API: starts and watches DAG runs, reads task logs, responds to human-in-the-loop tasks."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from core.errors import Refused, TryAgain
from infra.retry import retry_on
from infra.settings import LOOPBACK, Settings

USER = "admin"
_SECONDS = 40.0  # its server was seen to answer nobody for 33 s on a busy machine
_UNAVAILABLE_FOR = 120.0  # seconds: its SQLite database has one writer, and Airflow refuses what finds it locked
_REGISTERED_WITHIN = timedelta(seconds=3)  # from the start of a task until it awaits input


def home(settings: Settings) -> Path:
    """The folder of Airflow's configuration, database and password."""
    return settings.data / "airflow"


def password_file(settings: Settings) -> Path:
    """The generated password of the user ``admin``, as JSON; only its owner may read it."""
    return home(settings) / "passwords.json"


def url(settings: Settings) -> str:
    """The URL of the API and the web UI."""
    return f"http://{LOOPBACK}:{settings.airflow_port}"


def health(settings: Settings) -> dict[str, str]:
    """The status of each component. Raises TryAgain when Airflow does not answer."""
    components = _send(f"{url(settings)}/api/v2/monitor/health")
    return {name: str(component["status"]) for name, component in components.items()}


def token(settings: Settings) -> str:
    """A token of the API, for the password in ``password_file``."""
    body = {"username": USER, "password": json.loads(password_file(settings).read_text("utf-8"))[USER]}
    return str(_send(f"{url(settings)}/auth/token", "POST", body)["access_token"])


class AirflowApi:
    """The API with one token."""

    def __init__(self, settings: Settings) -> None:
        self._base = url(settings)
        self._headers = {"Authorization": f"Bearer {token(settings)}"}

    def get(self, *path: str, **query: str) -> Any:
        """The JSON at a path. Raises Refused with Airflow's response."""
        return self._request("GET", path, None, query)

    def post(self, body: Mapping[str, object], *path: str) -> Any:
        """The JSON that Airflow answers to a body. Raises Refused with Airflow's response."""
        return self._request("POST", path, body)

    def unpause(self, dag: str, *, paused: bool = False) -> None:
        """Unpauses a DAG, so that the scheduler starts its runs; ``paused`` pauses it."""
        self._request("PATCH", ("dags", dag), {"is_paused": paused})

    def trigger(self, dag: str, conf: Mapping[str, object] | None = None, run: str | None = None) -> str:
        """Triggers a DAG run with these parameters and returns its id."""
        body = {"logical_date": None, "conf": dict(conf or {})} | ({"dag_run_id": run} if run else {})
        return str(self.post(body, "dags", dag, "dagRuns")["dag_run_id"])

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """Every run of a DAG."""
        return list(self.get("dags", dag, "dagRuns", limit="100")["dag_runs"])

    def state(self, dag: str, run: str) -> str:
        """The state of a DAG run: queued, running, success or failed."""
        return str(self.get("dags", dag, "dagRuns", run)["state"])

    def page_url(self, dag: str, run: str) -> str:
        """The URL of a DAG run in the web UI."""
        return f"{self._base}/dags/{quote(dag)}/runs/{quote(run)}"

    def tasks(self, dag: str, run: str) -> dict[str, dict[str, Any]]:
        """The task instances of a DAG run, by task id."""
        instances = self.get("dags", dag, "dagRuns", run, "taskInstances", limit="100")["task_instances"]
        return {instance["task_id"]: instance for instance in instances}

    def log(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        """The log of one try of a task."""
        log = self.get("dags", dag, "dagRuns", run, "taskInstances", task, "logs", str(attempt), full_content="true")
        return "\n".join(line if isinstance(line, str) else str(line.get("event", line)) for line in log["content"])

    def events(self) -> list[dict[str, Any]]:
        """Every asset event so far."""
        return list(self.get("assets", "events", limit="100")["asset_events"])

    def awaits_input(self, dag: str, run: str, task: str) -> bool:
        """Whether a task awaits input and the scheduler has seen it since: an earlier response may be lost."""
        instance = self.tasks(dag, run)[task]
        if instance["state"] != "awaiting_input":
            return False
        heartbeat = datetime.fromisoformat(self.get("monitor", "health")["scheduler"]["latest_scheduler_heartbeat"])
        return heartbeat > datetime.fromisoformat(instance["start_date"]) + _REGISTERED_WITHIN

    def respond(self, dag: str, run: str, task: str, option: str) -> None:
        """Responds to a task that awaits input."""
        path = ("dags", dag, "dagRuns", run, "taskInstances", task, "-1", "hitlDetails")
        self._request("PATCH", path, {"chosen_options": [option], "params_input": {}})

    def clear(self, dag: str, run: str, *tasks: str) -> None:
        """Clears tasks of a DAG run that ended, so that they run again."""
        body = {"dry_run": False, "dag_run_id": run, "task_ids": list(tasks), "only_failed": False}
        self.post(body | {"reset_dag_runs": True}, "dags", dag, "clearTaskInstances")

    def _request(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, object] | None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        place = "/".join(quote(part, safe="") for part in path)
        address = f"{self._base}/api/v2/{place}" + (f"?{urlencode(query)}" if query else "")
        send = partial(_send, address, method, body, self._headers)
        return retry_on(_Unavailable, send, _UNAVAILABLE_FOR, every=0.2, longest=5.0)


class _Unavailable(TryAgain):
    """The request may be sent again: Airflow did nothing (status 503), or failed (500) or was silent at a read."""


def _send(
    address: str,
    method: str = "GET",
    body: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Any:
    all_headers = {"Accept": "application/json", **(headers or {})}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        all_headers["Content-Type"] = "application/json"
    request = urllib.request.Request(address, data, all_headers, method=method)  # noqa: S310  our own URL
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
            return json.loads(response.read() or b"null")
    except urllib.error.HTTPError as e:
        body_text = e.read().decode("utf-8", "replace")[:500]
        # Airflow 3 answers 500 to a read of asset events while a run that one of them triggered is queued.
        failed_read = method == "GET" and e.code == HTTPStatus.INTERNAL_SERVER_ERROR
        error = _Unavailable if failed_read or e.code == HTTPStatus.SERVICE_UNAVAILABLE else Refused
        raise error(
            f"Airflow refused the request: {e.code} {body_text}",
            where=f"{method} {address}",
            fix="read `lk logs airflow`",
        ) from None
    except OSError as e:
        again = _Unavailable if method == "GET" and isinstance(e, TimeoutError) else TryAgain
        raise again(f"Airflow does not answer: {e}", where=address, fix="start it: `lk up airflow`") from None
