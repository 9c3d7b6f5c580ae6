"""Airflow's client sends again what Airflow did not do and what only reads, and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core.errors import Refused, TryAgain
from infra import airflow_api
from infra.airflow_api import AirflowApi
from infra.settings import LOOPBACK, Settings

LOCKED = (503, {"detail": "Database is locked."})
FAILED = (500, "Internal Server Error")
SILENT = (0, None)


@contextmanager
def airflow(settings: Settings, *answers: tuple[int, object]) -> Iterator[tuple[AirflowApi, list[str]]]:
    """A server that gives a token and then these answers; with the requests that it got after the token.

    It gives no answer for SILENT until the block ends.
    """
    left, requests, block_ended = list(answers), [], threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.answer(*left.pop(0))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/auth/token":
                self.answer(200, {"access_token": "a-token"})
            else:
                requests.append(self.path)
                self.answer(*left.pop(0))

        def answer(self, status: int, body: object) -> None:
            if (status, body) == SILENT:
                block_ended.wait()
                return
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield AirflowApi(settings.model_copy(update={"airflow_port": server.server_port})), requests
        finally:
            block_ended.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path)
    path = airflow_api.password_file(settings)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({airflow_api.USER: "a-password"}))
    return settings


def test_a_request_that_found_the_database_locked_is_sent_again(settings: Settings) -> None:
    with airflow(settings, LOCKED, LOCKED, (200, {"dag_run_id": "manual__7"})) as (api, requests):
        assert api.trigger("range_rebuild", {"day": "2026-03-13"}) == "manual__7"
    assert requests == ["/api/v2/dags/range_rebuild/dagRuns"] * 3


def test_a_refused_request_is_not_sent_again(settings: Settings) -> None:
    with (
        airflow(settings, (409, {"detail": "There is already a run with this id"})) as (api, requests),
        pytest.raises(Refused, match="already a run with this id"),
    ):
        api.trigger("range_rebuild", {"day": "2026-03-13"}, "manual__7")
    assert requests == ["/api/v2/dags/range_rebuild/dagRuns"]


def test_a_request_that_only_reads_is_sent_again_when_airflow_is_silent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_api, "_SECONDS", 0.3)
    with airflow(settings, SILENT, (200, {"state": "running"})) as (api, requests):
        assert api.state("lambda_batch", "a-run") == "running"
    assert requests == ["/api/v2/dags/lambda_batch/dagRuns/a-run"] * 2


def test_a_read_that_airflow_failed_at_is_sent_again(settings: Settings) -> None:
    with airflow(settings, FAILED, FAILED, (200, {"asset_events": []})) as (api, requests):
        assert api.events() == []
    assert requests == ["/api/v2/assets/events?limit=100"] * 3


def test_a_request_that_starts_something_is_not_sent_again_when_airflow_failed_at_it(settings: Settings) -> None:
    with airflow(settings, FAILED) as (api, requests), pytest.raises(Refused, match="500"):
        api.trigger("lambda_batch")
    assert requests == ["/api/v2/dags/lambda_batch/dagRuns"]


def test_a_request_that_starts_something_is_not_sent_again_when_airflow_is_silent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_api, "_SECONDS", 0.3)
    with airflow(settings, SILENT) as (api, requests), pytest.raises(TryAgain, match="does not answer"):
        api.trigger("lambda_batch")
    assert requests == ["/api/v2/dags/lambda_batch/dagRuns"]
