"""The Data Docs of a build: the index and the pages load nothing from the web and escape hostile text."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from core.identifiers import Name
from infra.control.check_results import CheckResult
from infra.quality.data_docs import write_pages

BUILD = Name("b000007")
# 09:05:01 UTC, written by a process in another zone.
EVALUATED = datetime(2026, 3, 1, 11, 5, 1, tzinfo=timezone(timedelta(hours=2)))


def result(check: str, *, success: bool = True, **values: Any) -> CheckResult:
    passed = CheckResult(
        BUILD, "sales", check, "critical", success, None, "32", "32", None, "[]", f"about {check}", EVALUATED, 0.84
    )
    return replace(passed, **values)


WRITTEN = result("written")
NOT_FEWER = result("not_fewer_rows", expected="30", comparison="at_least")
FEW = result("few", success=False, observed="2", expected="0", unexpected=2, first='[{"shop": "a"}, {"shop": null}]')
WARNED = result("small", success=False, observed="1", expected="0", unexpected=1, severity="warning")
CRASHED = result("fresh", success=False, observed=None, expected=None, exception="division by zero")
TOPIC = result("control_total", view="topic:trades", observed="97", expected="97")


class _Reader(HTMLParser):
    """Parses a page: the cells of its table rows, and the tags that a browser would load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.active: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag in ("script", "img", "link", "iframe") or any(
            name == "src" or name.startswith("on") for name, _ in attrs
        ):
            self.active.append(tag)

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] = " ".join([*self.rows[-1][-1].split(), *data.split()])


def pages(folder: Path, *results: CheckResult, refused: tuple[str, ...] = ()) -> tuple[str, str]:
    """The texts of the index and of the page of the view."""
    index = folder / "quality" / BUILD / "index.html"
    write_pages(index, BUILD, results, {Name("sales"): refused} if refused else {})
    return index.read_text("utf-8"), (index.parent / "views" / "sales.html").read_text("utf-8")


def test_the_page_of_a_passed_build_shows_each_check_with_its_bound(tmp_path: Path) -> None:
    index, page = pages(tmp_path, WRITTEN, NOT_FEWER, TOPIC)
    assert "The gate passed this build." in index
    assert _Reader(index).rows == [
        ["view or topic", "outcome", "checks", "failed", "warnings", "evaluated"],
        ["sales", "passed", "2", "none", "none", "2026-03-01 09:05:01 UTC"],
        ["topic:trades", "passed", "1", "none", "none", "2026-03-01 09:05:01 UTC"],
    ]
    assert "<title>sales, build b000007</title>" in page
    assert "Evaluated 2026-03-01 09:05:01 UTC in 0.8 s." in page
    assert _Reader(page).rows == [
        ["check", "outcome", "severity", "observed", "expected", "what it counts"],
        ["written", "passed", "critical", "32", "32", "about written"],
        ["not_fewer_rows", "passed", "critical", "32", "at least 30", "about not_fewer_rows"],
    ]


def test_the_page_of_a_failed_build_says_why(tmp_path: Path) -> None:
    index, page = pages(tmp_path, WRITTEN, FEW, WARNED, CRASHED, refused=("few: about few: 2, expected 0",))
    assert "The gate refused this build." in index
    assert "<li>sales: few: about few: 2, expected 0</li>" in index
    assert _Reader(index).rows[1:] == [["sales", "failed", "4", "few, fresh", "small", "2026-03-01 09:05:01 UTC"]]
    assert _Reader(page).rows[2:] == [
        ["few", "failed", "critical", "2", "0", 'about few first: [{"shop": "a"}, {"shop": null}]'],
        ["small", "warning", "warning", "1", "0", "about small"],
        ["fresh", "not evaluated", "critical", "–", "–", "about fresh not evaluated: division by zero"],
    ]


def test_a_build_whose_view_has_no_result_shows_the_refusal(tmp_path: Path) -> None:
    index = tmp_path / "index.html"
    write_pages(index, BUILD, [TOPIC], {Name("sales"): ("there is no check",)})
    assert "<li>sales: there is no check</li>" in index.read_text("utf-8")
    assert sorted(path.name for path in tmp_path.rglob("*.html")) == ["index.html", "trades.html"]


@pytest.mark.parametrize("field", ["check", "observed", "expected", "exception", "first", "detail"])
def test_hostile_text_is_shown_as_text(tmp_path: Path, field: str) -> None:
    hostile = '<script>alert(1)</script><img src=x onerror="alert(2)">{{ 7 * 7 }}'
    planted: dict[str, Any] = {field: hostile}
    index, page = pages(tmp_path, replace(FEW, **planted), refused=(hostile,))
    assert hostile in " ".join(cell for row in _Reader(page).rows for cell in row)
    assert (_Reader(index).active, _Reader(page).active) == ([], [])


def test_pages_load_nothing_from_the_web_and_old_pages_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "quality" / BUILD
    (folder / "validations").mkdir(parents=True)
    (folder / "validations" / "old.html").write_text("old", "utf-8")
    pages(tmp_path, WRITTEN, FEW, TOPIC)
    written = [path for path in folder.rglob("*") if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in written}
    assert sorted(files) == ["index.html", "topics/trades.html", "views/sales.html"]
    assert [name for name, text in files.items() if re.search(r"://|<script|<link|url\(", text)] == []
    links = [(path.parent, link) for path in written for link in re.findall('href="([^"]+)"', path.read_text("utf-8"))]
    assert len(links) == 4
    assert [link for place, link in links if not (place / link).is_file()] == []
