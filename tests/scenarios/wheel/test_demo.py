"""`lk demo` of the installed wheel, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wheel import installed


@pytest.mark.timeout(1500)
def test_the_demo_runs_from_the_wheel_in_an_empty_folder(tmp_path: Path) -> None:
    wheel = installed(tmp_path)
    try:
        wheel.lk("demo", seconds=1400).ok()
    finally:
        wheel.lk("-c", ".demo/lk.toml", "down")
