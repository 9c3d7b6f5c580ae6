"""The live page in a real browser, and the check that its numbers are those of `lk status`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, Request, sync_playwright

from tests.support.suite.machine_speed import patient

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")


class OpenedPage:
    """The page in a browser, with every address that it asked for and every complaint of the browser."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.addresses: list[str] = []
        self.complaints: list[str] = []
        page.on("request", self._asked)
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(url)

    def _asked(self, request: Request) -> None:
        self.addresses.append(request.url)

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table, as text."""
        script = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        cells: list[list[str]] = self.page.locator(f"#table-{table} tbody tr").evaluate_all(script)
        return cells

    def text(self, id: str) -> str:
        """The text of an element."""
        return self.page.locator(f"#{id}").text_content() or ""

    def health(self) -> str | None:
        """The state of the first line: ok or bad."""
        return self.page.locator("#health").get_attribute("data-state")

    def check_numbers(self, status: dict[str, Any]) -> None:
        """Fails unless the page is green and has the numbers of `lk status --json`, without a lag."""
        assert self.health() == "ok", self.text("unhealthy")
        assert [row[:6] for row in self.rows("views")] == [
            [v["view"], v["mode"], v["build"], v["run"], str(v["epoch"]), f"{v['lag']:,}"] for v in status["views"]
        ]
        numbers = ("offsets", "decoded", "quarantined")
        assert [row[:5] for row in self.rows("ledger")] == [
            [p["topic"], str(p["partition"]), *(f"{p[name]:,}" for name in numbers)] for p in status["partitions"]
        ]
        up = {process["name"] for process in status["processes"] if process["status"] == "up"}
        assert {row[0] for row in self.rows("processes") if row[1] == "up"} == up
        assert self.text("served-lag") == "lag 0"


@contextmanager
def opened_page(url: str) -> Iterator[OpenedPage]:
    """The page at an address in Chromium, while the block runs."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.set_default_timeout(1000 * patient(180))
        yield OpenedPage(page, url)
        browser.close()
