"""A document that cannot be made ends nothing: the page keeps its numbers, says so, and tries again."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from flows.live_page import collector as collectors
from flows.live_page import metrics
from flows.live_page.collector import Collector
from flows.live_page.snapshot import Snapshot
from flows.live_page.web_app import web_app
from infra.settings import Settings
from tests.support.examples.live_snapshot import snapshot

FAILURE = "the page could not be made: unexpected ZeroDivisionError: division by zero"


class Reader:
    """Has no parts to read, and these snapshots."""

    parts = ()

    def __init__(self, *snapshots: Snapshot) -> None:
        self._snapshots = list(snapshots)

    def snapshot(self) -> Snapshot:
        return self._snapshots.pop(0)


def broken(*_: object) -> bytes:
    raise ZeroDivisionError("division by zero")


def of_snapshots(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Collector:
    reader = Reader(*(snapshot(seconds) for seconds in (0, 2, 4, 6, 8)))
    monkeypatch.setattr(collectors, "StateReader", lambda _: reader)
    return Collector(settings)


def page(client: TestClient) -> dict[str, Any]:
    document: dict[str, Any] = client.get("/page.json").json()
    return document


def test_a_page_that_cannot_be_made_keeps_its_numbers_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path)
    collector = of_snapshots(monkeypatch, settings)
    client = TestClient(web_app(settings, collector))
    before = page(client)
    assert (before["at"], before["unhealthy"]) == ("2026-03-14 12:00:00 UTC", [])
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(collectors, "page_document", broken)
        collector.collect()
        collector.collect()
    assert page(client) == before | {"unhealthy": [FAILURE]}
    assert (client.get("/metrics").status_code, client.get("/metrics").text) == (503, f"{FAILURE}\n")
    assert client.get("/health").status_code == 200
    (record,) = caplog.records
    first, _, trace = record.message.partition("\n")
    assert first.partition(" ")[2] == FAILURE
    assert "in broken" in trace
    collector.collect()
    assert (page(client)["at"], page(client)["unhealthy"]) == ("2026-03-14 12:00:06 UTC", [])
    assert client.get("/metrics").status_code == 200


def test_metrics_that_cannot_be_made_say_so_and_the_page_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path)
    collector = of_snapshots(monkeypatch, settings)
    client = TestClient(web_app(settings, collector))
    failure = "the metrics could not be made: unexpected ZeroDivisionError: division by zero"
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(metrics, "exposition", broken)
        for _ in range(2):
            collector.collect()
            assert (client.get("/metrics").status_code, client.get("/metrics").text) == (503, f"{failure}\n")
    assert (page(client)["at"], page(client)["unhealthy"]) == ("2026-03-14 12:00:04 UTC", [])
    (record,) = caplog.records
    assert failure in record.message
    collector.collect()
    assert client.get("/metrics").status_code == 200


def test_metrics_are_rendered_once_for_a_snapshot_and_only_if_somebody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered, render = list[str](), metrics.exposition

    def counted(of: Snapshot, *rest: Any) -> bytes:
        rendered.append(f"{of.at:%S}")
        return render(of, *rest)

    monkeypatch.setattr(metrics, "exposition", counted)
    settings = Settings(data=tmp_path)
    collector = of_snapshots(monkeypatch, settings)
    client = TestClient(web_app(settings, collector))
    for _ in range(3):
        collector.collect()
    assert rendered == []
    with ThreadPoolExecutor(4) as pool:
        answers = [answer.text for answer in pool.map(client.get, ["/metrics"] * 8)]
    assert (rendered, len(set(answers))) == (["06"], 1)
    collector.collect()
    assert (client.get("/metrics").status_code, rendered) == (200, ["06", "08"])


def test_the_reason_may_have_text_that_json_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = of_snapshots(monkeypatch, Settings(data=tmp_path))

    def odd(*_: object) -> bytes:
        raise ValueError("no file /\udcff")

    monkeypatch.setattr(collectors, "page_document", odd)
    collector.collect()
    assert json.loads(collector.page.body)["unhealthy"] == [
        "the page could not be made: unexpected ValueError: no file /\\udcff"
    ]
