"""Airflow's REST API: what starts a DAG run, watches it, reads its task logs and answers what it asks people."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from core.errors import Refused, TryAgain
from infra.settings import LOOPBACK, Settings

USER = "admin"
_SECONDS = 20.0
_PAUSED_WITHIN = timedelta(seconds=3)  # a task asks as soon as it has started


def home(settings: Settings) -> Path:
    """Its folder: configuration, database, password."""
    return settings.data / "airflow"


def password_file(settings: Settings) -> Path:
    """The generated password of the user ``admin``, as JSON; only its owner may read it."""
    return home(settings) / "passwords.json"


def url(settings: Settings) -> str:
    """Where it answers, people too."""
    return f"http://{LOOPBACK}:{settings.airflow_port}"


def health(settings: Settings) -> dict[str, str]:
    """The status of each of its parts. Raises TryAgain when it does not answer."""
    found = _send(f"{url(settings)}/api/v2/monitor/health")
    return {part: str(said["status"]) for part, said in found.items()}


def token(settings: Settings) -> str:
    """A token for the API, for the password in the file."""
    body = {"username": USER, "password": json.loads(password_file(settings).read_text("utf-8"))[USER]}
    return str(_send(f"{url(settings)}/auth/token", "POST", body)["access_token"])


class Api:
    """The API, with a token that was asked for once."""

    def __init__(self, settings: Settings) -> None:
        self._base = url(settings)
        self._headers = {"Authorization": f"Bearer {token(settings)}"}

    def get(self, *path: str, **query: str) -> Any:
        """What a place says. Raises Refused with what Airflow said."""
        return self._ask("GET", path, None, query)

    def unpause(self, dag: str, *, paused: bool = False) -> None:
        """Lets the scheduler start runs of a DAG."""
        self._ask("PATCH", ("dags", dag), {"is_paused": paused})

    def trigger(self, dag: str, conf: Mapping[str, object] | None = None, run: str | None = None) -> str:
        """Starts a DAG run with these parameters, and gives its id."""
        body = {"logical_date": None, "conf": dict(conf or {})} | ({"dag_run_id": run} if run else {})
        return str(self._ask("POST", ("dags", dag, "dagRuns"), body)["dag_run_id"])

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """Every run of a DAG."""
        return list(self.get("dags", dag, "dagRuns", limit="100")["dag_runs"])

    def state(self, dag: str, run: str) -> str:
        """The state of a DAG run: queued, running, success or failed."""
        return str(self.get("dags", dag, "dagRuns", run)["state"])

    def page(self, dag: str, run: str) -> str:
        """Where people look at a DAG run."""
        return f"{self._base}/dags/{quote(dag)}/runs/{quote(run)}"

    def tasks(self, dag: str, run: str) -> dict[str, dict[str, Any]]:
        """Every task of a DAG run: its state, try, pid and so on."""
        found = self.get("dags", dag, "dagRuns", run, "taskInstances", limit="100")["task_instances"]
        return {one["task_id"]: one for one in found}

    def log(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        """The log of one try of a task, a line for each thing that it said."""
        found = self.get("dags", dag, "dagRuns", run, "taskInstances", task, "logs", str(attempt), full_content="true")
        return "\n".join(line if isinstance(line, str) else str(line.get("event", line)) for line in found["content"])

    def returned(self, dag: str, run: str, task: str) -> Any:
        """What a task returned."""
        where = ("dags", dag, "dagRuns", run, "taskInstances", task, "xcomEntries", "return_value")
        return self._ask("GET", where, None, {"stringify": "false"})["value"]

    def events(self) -> list[dict[str, Any]]:
        """Every asset event so far."""
        return list(self.get("assets", "events", limit="100")["asset_events"])

    def asks(self, dag: str, run: str, task: str) -> bool:
        """Whether a task waits for people, and the scheduler has looked since: an answer before that may be lost."""
        found = self.tasks(dag, run)[task]
        if found["state"] != "awaiting_input":
            return False
        looked = datetime.fromisoformat(self.get("monitor", "health")["scheduler"]["latest_scheduler_heartbeat"])
        return looked > datetime.fromisoformat(found["start_date"]) + _PAUSED_WITHIN

    def answer(self, dag: str, run: str, task: str, option: str) -> None:
        """Answers what a task asks people."""
        where = ("dags", dag, "dagRuns", run, "taskInstances", task, "-1", "hitlDetails")
        self._ask("PATCH", where, {"chosen_options": [option], "params_input": {}})

    def clear(self, dag: str, run: str, *tasks: str) -> None:
        """Lets tasks of a run that ended run again."""
        body = {"dry_run": False, "dag_run_id": run, "task_ids": list(tasks), "only_failed": False}
        self._ask("POST", ("dags", dag, "clearTaskInstances"), body | {"reset_dag_runs": True})

    def backfill(self, dag: str, first: str, last: str, conf: Mapping[str, object]) -> int:
        """Runs a scheduled DAG for the intervals of a span of time, one after the other; gives the backfill's id."""
        span = {"from_date": first, "to_date": last}
        body = {"dag_id": dag, **span, "dag_run_conf": dict(conf), "max_active_runs": 1}
        return int(self._ask("POST", ("backfills",), body | {"reprocess_behavior": "completed"})["id"])

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, object] | None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        where = "/".join(quote(part, safe="") for part in path)
        asked = f"{self._base}/api/v2/{where}" + (f"?{urlencode(query)}" if query else "")
        return _send(asked, method, body, self._headers)


def _send(
    where: str, method: str = "GET", body: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None
) -> Any:
    given = {"Accept": "application/json", **(headers or {})}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        given["Content-Type"] = "application/json"
    request = urllib.request.Request(where, data, given, method=method)  # noqa: S310  our own URL
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as e:
        said = e.read().decode("utf-8", "replace")[:500]
        raise Refused(f"Airflow refused: {e.code} {said}", where=f"{method} {where}", fix="`lk logs airflow`") from None
    except OSError as e:
        raise TryAgain(f"Airflow does not answer: {e}", where=where, fix="`lk up airflow`, then again") from None
