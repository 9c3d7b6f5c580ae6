"""`lk demo` of the installed wheel, in an empty folder: its lines, and the live page in a browser, if there is one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from infra.retry import retry_on
from tests.support.checks.opened_page import BROWSER, opened_page
from tests.support.checks.page_numbers import check_page_numbers
from tests.support.suite.machine_speed import patient
from tests.support.wheel import installed

# `make demo` may print fifteen lines. `make setup` prints up to ten of them: two by uv, one for uv, one for the
# packages, three for downloads, one for half of the largest download, one for Spark's AOT cache, one at the end.
LINES_BEFORE_THE_FIRST_RESULT = 15 - 10


@pytest.mark.timeout(1500)
def test_the_demo_runs_from_the_wheel_in_an_empty_folder(tmp_path: Path) -> None:
    wheel = installed(tmp_path)
    try:
        demo = wheel.lk("demo", seconds=1400).ok()
        before, first_result, _ = demo.err.partition("first result: ")
        assert first_result
        assert len(before.splitlines()) - 1 <= LINES_BEFORE_THE_FIRST_RESULT, before
        page = re.search(r"^ui is up at (http://\S+)", before, re.M)
        assert page, before

        def status() -> dict[str, Any]:
            document: dict[str, Any] = wheel.lk("-c", ".demo/lk.toml", "status", "--json").ok().json
            return document

        def same_numbers() -> None:
            check_page_numbers(page[1], status())

        retry_on(AssertionError, same_numbers, patient(60), every=1.0)
        if BROWSER is not None:
            with opened_page(page[1]) as opened:
                retry_on(AssertionError, lambda: opened.check_numbers(status()), patient(60), every=1.0)
    finally:
        wheel.lk("-c", ".demo/lk.toml", "down")
