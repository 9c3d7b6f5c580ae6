"""The script that draws the charts comes from a package, once for each version of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.errors import TryAgain
from flows.live_page import chart_library
from infra.settings import Settings


def test_the_script_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data=tmp_path, cache=tmp_path / "cache")
    file = chart_library.script(settings)
    assert "window.vegaEmbed" in file.read_text("utf-8")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert chart_library.script(settings) == file
    assert list(settings.cache.iterdir()) == [file]


def test_a_script_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data=tmp_path, cache=tmp_path / "cache")
    monkeypatch.setattr(chart_library, "_BUNDLE", "import sys; open(sys.argv[1], 'w').write('half'); sys.exit(3)")
    with pytest.raises(TryAgain, match="the charts have no library"):
        chart_library.script(settings)
    assert list(settings.cache.iterdir()) == []
