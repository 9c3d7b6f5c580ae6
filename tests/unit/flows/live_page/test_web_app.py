"""One record is read at a time: another question for one is told to come again, and no other page waits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from core.errors import Refused, TryAgain
from flows.live_page import web_app as web_app_module
from flows.live_page.collector import Collector
from flows.live_page.trace_page import TracePage
from flows.live_page.web_app import web_app
from infra.local import airflow_server, local_processes
from infra.local.ports import free_ports
from infra.settings import Settings

PLAIN, WITH_ROWS = "/trace/trades/0/7", "/trace/trades/0/7/rows"
PAGE = TracePage("trades/0/7", "", (), ())


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    settings = Settings(data=tmp_path)
    return TestClient(web_app(settings, Collector(settings)))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What reads records waits for ``go_on`` after it said that it ``began``."""
    state = SimpleNamespace(began=threading.Semaphore(0), go_on=threading.Event(), count=0)

    def read(*_: object) -> TracePage:
        state.count += 1
        state.began.release()
        assert state.go_on.wait(20)
        return PAGE

    monkeypatch.setattr("flows.live_page.slow_pages.page_with_rows", read)
    monkeypatch.setattr("flows.live_page.trace_page.trace_page", read)
    return state


def test_while_a_record_is_read_others_are_told_to_come_again(client: TestClient, reads: SimpleNamespace) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.get, WITH_ROWS)
        assert reads.began.acquire(timeout=20)
        for _ in range(50):  # more than the server has threads
            refused = client.get(WITH_ROWS)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
            assert "try again" in refused.text
        assert client.get("/").status_code == 200
        reads.go_on.set()
        assert first.result(20).status_code == 200
    assert reads.count == 1
    assert client.get(WITH_ROWS).status_code == 200


def test_a_record_without_rows_does_not_wait_for_spark(client: TestClient, reads: SimpleNamespace) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(client.get, path) for path in (WITH_ROWS, PLAIN)]
        assert all(reads.began.acquire(timeout=20) for _ in answers)
        assert client.get(PLAIN).status_code == 503
        reads.go_on.set()
        assert [answer.result(20).status_code for answer in answers] == [200, 200]


def test_what_may_work_later_says_when(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise TryAgain("Kafka does not answer")

    monkeypatch.setattr("flows.live_page.trace_page.trace_page", away)
    answer = client.get(PLAIN)
    assert (answer.status_code, answer.headers["retry-after"], "Kafka does not answer" in answer.text) == (
        503,
        "10",
        True,
    )


def test_a_local_airflow_has_a_link_and_none_without(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, airflow_port=18999)
    page = TestClient(web_app(settings, Collector(settings)))
    link = '<a href="http://127.0.0.1:18999" rel="noopener">Airflow</a>'
    assert '<a href="http://127.0.0.1:18080/ui/" rel="noopener">Trino</a>' in page.get("/").text
    assert link not in page.get("/").text
    local_processes.start_process(settings, airflow_server.NAME, ["sleep", "60"])
    try:
        assert link in page.get("/").text
    finally:
        local_processes.stop_process(settings, airflow_server.NAME)
    assert link not in page.get("/").text


def test_a_file_name_that_is_no_text_of_utf_8_breaks_no_page(tmp_path: Path) -> None:
    views = tmp_path / "caf\udce9"
    views.mkdir()
    (views / "broken.py").write_text("VIEW = 'no view'\n", "utf-8")
    settings = Settings(data=tmp_path, views=(views,)).of_file(views / "lk.toml")
    page = TestClient(web_app(settings, Collector(settings)))
    assert (page.get("/").status_code, page.get("/runbook/lag-grows").status_code) == (200, 200)
    missing = page.get("/view/broken")
    assert (missing.status_code, "caf\\udce9" in missing.text) == (404, True)


def test_before_the_first_gate_its_pages_are_not_there(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    page = TestClient(web_app(settings, Collector(settings)))
    assert [page.get(f"/quality/{path}").status_code for path in ("", "b000001/index.html")] == [404, 404]
    assert Collector(settings)._document["quality"] == ""


def test_a_browser_that_has_the_script_of_the_charts_does_not_get_it_again(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    page = TestClient(web_app(settings, Collector(settings)))
    answer = page.get("/static/vega.js")
    assert (answer.status_code, len(answer.content) > 500_000) == (200, True)
    assert page.get("/static/vega.js", headers={"if-none-match": answer.headers["etag"]}).status_code == 304


def test_a_second_server_of_the_same_moment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    settings = Settings(data=tmp_path, ui_port=port)
    with closing(web_app_module._listen(settings)):
        with pytest.raises(Refused, match=f"port {port} of ui is in use"):
            web_app_module._listen(settings)
        monkeypatch.setattr(local_processes, "require_free", lambda *_: None)  # both looked before one was there
        with pytest.raises(Refused, match=f"port {port} cannot be used: Address already in use"):
            web_app_module._listen(settings)


def test_pages_say_how_their_commands_reach_this_instance(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    hint = "<code>lk -c /srv/two.toml</code> instead of <code>lk</code>"
    for path in ("/", "/runbook/lag-grows"):
        for of, expected in ((settings, False), (settings.of_file(Path("/srv/two.toml")), True)):
            html = TestClient(web_app(of, Collector(of))).get(path).text
            assert (hint in html) == expected, path
