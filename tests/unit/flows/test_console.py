"""The demo's progress where stderr is a file or a pipe."""

from __future__ import annotations

import pytest

from flows.measure.console import note, progress_lines, waiting


def test_without_a_terminal_only_notes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_lines() as progress, waiting("waiting"):
        progress.expect(3)
        progress.update(1, 1, "landing")
    note("all sent")
    assert capsys.readouterr().err == "✓ all sent\n"
