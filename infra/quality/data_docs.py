"""Data Docs: HTML pages of a build's stored check results, an index and one page for each view and topic.

A page is one file that loads nothing from the web. Jinja2 escapes every value.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jinja2 import Environment

from core.identifiers import Name
from infra.control.check_results import TOPIC, CheckResult
from infra.html_templates import html_templates

_CLASSES = {"passed": "passed", "failed": "failed", "not evaluated": "failed", "warning": "warned"}


@dataclass(frozen=True)
class _Suite:
    """The results of one view or topic, and the file of its page, relative to the index."""

    name: str
    file: str
    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> list[str]:
        """The checks for which the gate refuses the build."""
        return [result.check for result in self.results if _outcome(result) in ("failed", "not evaluated")]

    @property
    def warnings(self) -> list[str]:
        return [result.check for result in self.results if _outcome(result) == "warning"]

    @property
    def outcome(self) -> str:
        return "failed" if self.failed else "passed"

    @property
    def css_class(self) -> str:
        return _CLASSES[self.outcome]

    @property
    def evaluated_at(self) -> datetime:
        return self.results[0].at

    @property
    def seconds(self) -> float:
        return self.results[0].seconds


def write_pages(
    index: Path, build: Name, results: Sequence[CheckResult], refused: Mapping[Name, Sequence[str]]
) -> None:
    """Replaces the index and the pages in its folder; ``refused`` is view -> why the gate refuses it."""
    folder = index.parent
    templates = _templates()
    suites = _suites(results)
    shutil.rmtree(folder, ignore_errors=True)
    for suite in suites:
        page = folder / suite.file
        page.parent.mkdir(parents=True, exist_ok=True)
        title = f"{suite.name}, build {build}"
        page.write_text(templates.get_template("suite.html").render(title=title, build=build, suite=suite), "utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    title = f"Gate of build {build}"
    index.write_text(templates.get_template("index.html").render(title=title, suites=suites, refused=refused), "utf-8")


def _templates() -> Environment:
    templates = html_templates(Path(__file__).with_name("templates"))
    templates.filters |= {"outcome": _outcome, "css_class": lambda result: _CLASSES[_outcome(result)]}
    return templates


def _suites(results: Sequence[CheckResult]) -> list[_Suite]:
    names = dict.fromkeys(result.view for result in results)
    return [_Suite(name, _file(name), tuple(result for result in results if result.view == name)) for name in names]


def _file(name: str) -> str:
    topic = name.removeprefix(TOPIC)
    return f"views/{name}.html" if topic == name else f"topics/{topic}.html"


def _outcome(result: CheckResult) -> str:
    if result.exception:
        return "not evaluated"
    if result.success:
        return "passed"
    return "warning" if result.severity == "warning" else "failed"
