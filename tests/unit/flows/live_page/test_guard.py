"""Writing methods and foreign Host headers are refused; every answer forbids what comes from elsewhere."""

from __future__ import annotations

import base64

import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient

from flows.live_page.guard import Guard


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()

    @app.api_route("/", methods=["GET", "POST", "PUT", "DELETE"])
    def index() -> PlainTextResponse:
        return PlainTextResponse("reached", headers={"cache-control": "max-age=5"})

    return TestClient(Guard(app, ["127.0.0.1", "localhost"]), base_url="http://127.0.0.1:1234")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_a_method_that_could_change_something_is_refused(client: TestClient, method: str) -> None:
    refused = client.request(method, "/")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
    assert client.get("/").text == "reached"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:1234", "127.0.0.1.evil.example", "localhost.evil.example:1234", "", ":1234"]
)
def test_a_foreign_host_header_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421
    for own in ("LOCALHOST:1234", "127.0.0.1:1234", "localhost:9000", "127.0.0.1"):  # a tunnel may have another port
        assert client.get("/", headers={"host": own}).status_code == 200


def test_answers_and_refusals_forbid_what_comes_from_elsewhere(client: TestClient) -> None:
    for answer in (client.get("/"), client.post("/"), client.get("/", headers={"host": "evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/").headers["cache-control"] == "max-age=5"


@pytest.mark.parametrize(
    "path", ["/trace", "/trace/trades/0/7", "/trace/trades/0/7/rows", "/view/by_day", "/plan", "/page.json"]
)
def test_a_page_of_another_site_starts_no_work(path: str) -> None:
    app = FastAPI()

    @app.get("/{path:path}")
    def page(path: str) -> PlainTextResponse:
        return PlainTextResponse(path)

    client = TestClient(Guard(app, ["127.0.0.1"]), base_url="http://127.0.0.1:1234")

    def answer(path: str, site: str) -> int:
        return client.get(path, headers={"sec-fetch-site": site}).status_code

    assert [answer(path, site) for site in ("cross-site", "same-site")] == [403, 403]
    assert [answer(path, site) for site in ("same-origin", "none")] == [200, 200]
    assert client.get(path).status_code == 200  # a program sends no such header
    assert [answer(other, "cross-site") for other in ("/", "/runbook/lag-grows", "/metrics")] == [200] * 3
    image = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}  # of any page: only a link leads here
    assert client.get("/", headers=image).status_code == 403
    assert client.get("/", headers=image | {"sec-fetch-dest": "document"}).status_code == 200


def test_the_password_of_the_metrics_opens_the_metrics_alone() -> None:
    app = FastAPI()

    @app.get("/{path:path}")
    def page(path: str) -> PlainTextResponse:
        return PlainTextResponse(path)

    guarded = Guard(app, ["127.0.0.1"], "of the page", "of the metrics")
    client = TestClient(guarded, base_url="http://127.0.0.1:1234")
    paths = ("/metrics", "/", "/metrics/", "/trace/trades/0/0", "/health")

    def answers(password: str) -> list[int]:
        return [client.get(path, auth=("anyone", password)).status_code for path in paths]

    with_empty_files = TestClient(Guard(app, ["127.0.0.1"], "", ""), base_url="http://127.0.0.1:1234")
    for login in (None, ("anyone", "")):
        assert [with_empty_files.get(path, auth=login).status_code for path in paths] == [401, 401, 401, 401, 200]
    assert answers("of the metrics") == [200, 401, 401, 401, 200]
    assert answers("of the page") == [200] * 5
    assert answers("wrong") == answers("") == [401, 401, 401, 401, 200]
    for header in (b"Basic \xe9", b"Basic x", b"Basic", b"Basic " + base64.b64encode(b"anyone:\xe9"), b"\xe9"):
        assert client.get("/", headers={b"authorization": header}).status_code == 401, header
