"""The log of queries keeps what Trino reports, bounded, and takes nothing from others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from flows.live_page.collector import Collector
from flows.live_page.guard import Guard
from flows.live_page.query_log import QueryLog, path
from flows.live_page.web_app import web_app
from infra.settings import Settings
from infra.trino.query_reports import PATH, key_file

# What Trino 476 sends, without what is not kept.
REPORT: dict[str, Any] = {
    "createTime": "2026-11-27T09:00:00.123Z",
    "endTime": "2026-11-27T09:00:00.456Z",
    "metadata": {
        "queryId": "20261127_090000_00001_abcde",
        "query": "SELECT 'a\nb'",
        "queryState": "FAILED",
        "tables": [{"catalog": "lake", "schema": "serving", "table": "trades_by_day"}],
    },
    "context": {"user": "reader", "source": "lk", "remoteClientAddress": "127.0.0.1"},
    "statistics": {"cpuTime": 0.012, "outputRows": 0, "peakUserMemoryBytes": 42},
    "failureInfo": {"errorCode": {"code": 1, "name": "COLUMN_NOT_FOUND"}, "failureMessage": "no such column"},
}
LINE = {
    "at": "2026-11-27T09:00:00.123Z",
    "ended": "2026-11-27T09:00:00.456Z",
    "query_id": "20261127_090000_00001_abcde",
    "user": "reader",
    "source": "lk",
    "client": "127.0.0.1",
    "query": "SELECT 'a\nb'",
    "state": "FAILED",
    "error": "COLUMN_NOT_FOUND",
    "message": "no such column",
    "tables": ["lake.serving.trades_by_day"],
    "rows": 0,
    "cpu_seconds": 0.012,
    "peak_bytes": 42,
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path, log_mebibytes=1)
    settings.log_dir.mkdir()
    key_file(settings).parent.mkdir(parents=True)
    key_file(settings).write_text("the-key")
    return settings


@pytest.fixture
def client(settings: Settings) -> TestClient:
    app = Guard(web_app(settings, Collector(settings)), ["testserver"], "a password of the page")
    return TestClient(app)


def lines(settings: Settings) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path(settings).read_text("utf-8").splitlines()]


def test_a_report_of_trino_is_one_line(settings: Settings, client: TestClient) -> None:
    for _ in range(2):
        answer = client.post(PATH, json=REPORT, headers={"authorization": "Bearer the-key"})
        assert answer.status_code == 204
    assert lines(settings) == [LINE, LINE]


@pytest.mark.parametrize("authorization", ["", "Bearer another", "Basic dGhlLWtleQ==", "Bearer the-kéy"])
def test_nobody_else_can_write_to_it(settings: Settings, client: TestClient, authorization: str) -> None:
    answer = client.post(PATH, json=REPORT, headers={b"authorization": authorization.encode()})
    assert answer.status_code == 403
    assert not path(settings).exists()


def test_without_a_secret_nothing_is_taken(settings: Settings, client: TestClient) -> None:
    key_file(settings).unlink()
    assert client.post(PATH, json=REPORT, headers={"authorization": "Bearer "}).status_code == 403


def test_an_empty_secret_is_nobodys(settings: Settings) -> None:
    assert QueryLog(settings).is_from_trino("Bearer the-key")
    key_file(settings).write_text("")
    assert not QueryLog(settings).is_from_trino("Bearer ")


def test_it_keeps_two_files_of_a_bounded_size(settings: Settings) -> None:
    log, long = QueryLog(settings), {"metadata": {"query": "x" * 100_000}}
    for _ in range(500):
        log.add(long)
    files = list(settings.log_dir.iterdir())
    assert sorted(file.name for file in files) == ["queries.jsonl", "queries.jsonl.1"]
    assert all(file.stat().st_size <= 2**20 for file in files)
    assert sum(file.stat().st_size for file in files) > 2**20
