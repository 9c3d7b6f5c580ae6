"""The script of the page in a browser, without a server: a silent server, a clock that was set back, repeated lines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright
from pydantic_core import to_json
from starlette.testclient import TestClient

from flows.live_page.collector import Collector
from flows.live_page.page_document import page_document
from flows.live_page.recent_samples import RecentSamples
from flows.live_page.snapshot import Snapshot
from flows.live_page.web_app import web_app
from infra.settings import Settings
from tests.support.examples.live_snapshot import away, snapshot

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")
URL = "http://page.test"


@dataclass
class ShownPage:
    """The page in a browser whose clock the test moves, and the document that it gets; without one it gets nothing."""

    page: Page
    client: TestClient
    document: bytes | None = None
    samples: RecentSamples = field(default_factory=RecentSamples)
    silent: list[Route] = field(default_factory=list)

    def says(self, of: Snapshot) -> None:
        """The server has read a new state."""
        self.samples.add(of)
        self.document = to_json(page_document(of, self.samples), inf_nan_mode="null")

    def answer(self, route: Route) -> None:
        """One request of the browser."""
        path = urlsplit(route.request.url).path
        if path == "/page.json":
            if self.document is None:
                self.silent.append(route)
            else:
                route.fulfill(body=self.document, content_type="application/json")
        elif path == "/history.json":
            route.fulfill(json={"samples": [], "marks": []})
        else:
            answer = self.client.get(path)
            route.fulfill(body=answer.content, content_type=answer.headers["content-type"])

    def pass_seconds(self, seconds: int) -> None:
        """Lets time pass in the browser, where it passes by itself, too."""
        self.page.clock.run_for(seconds * 1_000)

    def verdict(self) -> tuple[str | None, str | None]:
        """The state of the first line, and what it says."""
        return self.page.locator("#health").get_attribute("data-state"), self.page.locator("#verdict").text_content()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def shown(tmp_path: Path, browser: Browser) -> Iterator[ShownPage]:
    settings = Settings(data=tmp_path)
    page = browser.new_page()
    page.clock.install(time=0)
    view = ShownPage(page, TestClient(web_app(settings, Collector(settings))))
    view.says(snapshot(0))
    page.route("**/*", view.answer)
    page.goto(URL)
    page.wait_for_selector("#health[data-state=ok]")
    yield view
    page.close()


def test_a_server_that_hangs_turns_it_red_until_it_answers(shown: ShownPage) -> None:
    shown.document = None
    shown.pass_seconds(5)
    assert shown.verdict() == ("ok", "healthy")
    shown.pass_seconds(13)
    old = "this page's server does not answer, and what you see is old: `lk status` says why"
    assert (shown.verdict(), shown.page.title()) == (("bad", old), f"{old}: Lambda and Kappa")
    for _ in range(20):
        shown.pass_seconds(1 if len(shown.silent) < 2 else 0)
    assert len(shown.silent) >= 2, "the first request was not given up"
    shown.says(snapshot(20))
    shown.pass_seconds(12)
    shown.page.wait_for_selector("#health[data-state=ok]")
    assert shown.verdict() == ("ok", "healthy")


def test_a_clock_that_was_set_back_goes_on_with_the_samples_that_are_left(shown: ShownPage) -> None:
    times = []
    for seconds, hours in ((2, 0), (4, -1), (6, -1)):
        now = snapshot(seconds)
        at = now.at + timedelta(hours=hours)
        shown.says(replace(now, at=at, log=replace(now.log, at=at)))
        shown.pass_seconds(3)
        shown.page.wait_for_function(
            "at => document.getElementById('at').textContent.startsWith(at)", arg=f"{at:%F %T}"
        )
        times.append(
            shown.page.evaluate("samples.map(sample => new Date(sample.at * 1000).toISOString().slice(11, 19))")
        )
    assert times == [["12:00:00", "12:00:02"], ["11:00:04"], ["11:00:04", "11:00:06"]]


def test_lines_that_did_not_change_are_not_placed_again(shown: ShownPage) -> None:
    """A screen reader would read them every two seconds."""
    blind = away(snapshot(2), "lake", "broken")
    shown.says(blind)
    shown.pass_seconds(3)
    shown.page.wait_for_selector("#away-lines li")
    shown.page.evaluate("document.querySelector('#away-lines li').dataset.placed = 'before'")
    shown.says(replace(snapshot(4), lake=blind.lake))
    shown.pass_seconds(3)
    shown.page.wait_for_function("document.getElementById('at').textContent.includes('12:00:04')")
    (line,) = shown.page.locator("#away-lines li").all()
    assert line.text_content() == "lake: broken; shown as of 2026-03-14 12:00:02 UTC"
    assert line.get_attribute("data-placed") == "before"
