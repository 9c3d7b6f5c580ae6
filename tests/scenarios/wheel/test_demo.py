"""`lk demo` of the installed wheel, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wheel import installed

# Of fifteen lines, `make setup` prints up to ten: two of uv's, one for uv, one for the packages, one for each of three
# downloads and for half of the largest, one for Spark's class archive, one when all is ready.
LINES_BEFORE_THE_FIRST_RESULT = 15 - 10


@pytest.mark.timeout(1500)
def test_the_demo_runs_from_the_wheel_in_an_empty_folder(tmp_path: Path) -> None:
    wheel = installed(tmp_path)
    try:
        demo = wheel.lk("demo", seconds=1400).ok()
        before, first_result, _ = demo.err.partition("first result: ")
        assert first_result
        assert len(before.splitlines()) - 1 <= LINES_BEFORE_THE_FIRST_RESULT, before
    finally:
        wheel.lk("-c", ".demo/lk.toml", "down")
