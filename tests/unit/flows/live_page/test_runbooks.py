"""Runbooks are pages whose links lead to other runbooks, and in which no text is markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from flows.live_page.collector import Collector
from flows.live_page.runbooks import anchor, runbook
from flows.live_page.web_app import web_app
from infra.project_files import RUNBOOKS
from infra.settings import Settings

TEXT = """# The lag & more

See [another](other.md#do-it-now), [a document](../figures.md), [the *changes*](../../CHANGELOG.md#x),
[below](#do-it-now) and <script>alert(1)</script>.

## Do it now!

| what | do |
|---|---|
| `a <b>` | [x](javascript:alert(1)) |
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lag.md").write_text(TEXT, "utf-8")
    (tmp_path / "other.md").write_text("# Other\n", "utf-8")
    (tmp_path.parent / "secret.md").write_text("# Secret\n", "utf-8")
    return tmp_path


def test_a_runbook_is_a_page(folder: Path) -> None:
    page = runbook(folder, "lag")
    assert page
    assert page.title == "The lag & more"
    assert '<a href="/runbook/other#do-it-now">another</a>' in page.html
    assert "a document (<code>docs/figures.md</code>), the <em>changes</em> (<code>CHANGELOG.md</code>)" in page.html
    assert page.html.count("<a ") == 2
    assert '<a href="#do-it-now">below</a>' in page.html
    assert '<h2 id="do-it-now">' in page.html
    assert "<td><code>a &lt;b&gt;</code></td>" in page.html
    assert "<script" not in page.html
    assert 'href="javascript' not in page.html


@pytest.mark.parametrize("name", ["nothing", "", "../secret", "lag.md", "/etc/passwd"])
def test_another_name_is_no_runbook(folder: Path, name: str) -> None:
    assert runbook(folder, name) is None


def test_every_link_between_runbooks_leads_to_a_heading() -> None:
    pages = {path.stem: runbook(RUNBOOKS, path.stem) for path in RUNBOOKS.glob("*.md")}
    links = [
        (name, *link)
        for name, page in pages.items()
        if page
        for link in re.findall(r'href="(?:/runbook/([\w-]+))?(?:#([\w-]+))?"', page.html)
    ]
    assert len(links) > 20
    for name, target, place in links:
        page = pages[target or name]
        assert page
        assert not place or f'id="{place}"' in page.html, (name, target, place)


def test_the_live_page_serves_them(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    client = TestClient(web_app(settings, Collector(settings)))
    answer = client.get("/runbook/lag-grows")
    assert (answer.status_code, "<h1" in answer.text, "<title>The lag grows</title>" in answer.text) == (
        200,
        True,
        True,
    )
    assert client.get("/runbook/nothing").status_code == 404


def test_an_anchor_is_that_of_other_renderers() -> None:
    assert anchor("A lease of a dead process") == "a-lease-of-a-dead-process"
    assert anchor("Who uses it?") == "who-uses-it"
