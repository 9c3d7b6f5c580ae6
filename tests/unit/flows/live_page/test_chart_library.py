"""The script that draws the charts comes from a package: it is made once, and a failure is not kept."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from flows.live_page import chart_library
from flows.live_page.chart_library import ChartLibrary


def test_the_script_is_made_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    made, bundle = list[bytes](), chart_library._bundle

    def counting() -> bytes:
        made.append(bundle())
        return made[-1]

    monkeypatch.setattr(chart_library, "_bundle", counting)
    library = ChartLibrary()

    async def many() -> list[bytes]:
        return await asyncio.gather(*(library.script() for _ in range(50)))

    scripts = [*asyncio.run(many()), asyncio.run(library.script())]
    assert len(made) == 1
    assert b"window.vegaEmbed" in made[0]
    assert scripts == made * 51


def test_a_script_that_could_not_be_made_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    library, right = ChartLibrary(), chart_library._BUNDLE
    monkeypatch.setattr(chart_library, "_BUNDLE", "import sys; print('half'); sys.exit(3)")
    with pytest.raises(subprocess.CalledProcessError):
        asyncio.run(library.script())
    monkeypatch.setattr(chart_library, "_BUNDLE", right)
    assert b"window.vegaEmbed" in asyncio.run(library.script())
