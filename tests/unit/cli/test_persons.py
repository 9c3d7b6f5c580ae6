"""What `lk reveal` prints of a person's text."""

from __future__ import annotations

import pytest

from cli.persons import _print_revealed
from flows.reveal import Revealed


def test_a_text_with_line_ends_is_one_line_and_cannot_look_like_two_answers(capsys: pytest.CaptureFixture[str]) -> None:
    _print_revealed([Revealed("lk1.a", "first\nno text: forged", ""), Revealed("lk1.b", None, "its key is destroyed")])
    assert capsys.readouterr().out == "first\\nno text: forged\nno text: its key is destroyed\n"
