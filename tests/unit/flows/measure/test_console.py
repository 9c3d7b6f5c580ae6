"""The demo's progress where stderr is a file or a pipe."""

from __future__ import annotations

import pytest

from flows.measure.console import note, progress_lines
from infra import progress_bar
from infra.progress_bar import bar


def test_without_a_terminal_only_notes_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_bar, "_quiet", False)  # a verb with --json may have run in this process
    with progress_lines() as progress, bar("waiting"):
        progress.expect(3)
        progress.update(1, 1, "landing")
    note("all sent")
    assert capsys.readouterr().err == "✓ all sent\n"
