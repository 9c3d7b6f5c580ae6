"""Text of hostile records: what a terminal, a spreadsheet and a file of JSON get."""

from __future__ import annotations

import json

import pytest

from core.safe_text import json_line, one_line, several_lines, shortened, spreadsheet_cell

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    (
        "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
        "\\x1b]8;;https://evil.example\\x1b\\click\\x1b]8;;\\x1b\\",
    ),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    ("\x9b2J", "\\x9b2J"),
    ("a\x00b\x7f\x08c", "a\\x00b\\x7f\\x08c"),
    ("a\rb", "a\\rb"),
    ("gpj.\u202eexe", "gpj.\\u202eexe"),
    ("\u2066x\u2069\u200f", "\\u2066x\\u2069\\u200f"),
    ("a\u2028b", "a\\u2028b"),
    ("pay\u200bpal\u2060", "pay\\u200bpal\\u2060"),
    ("a\u206ab\xadc\u180ed\u3164e\uffa0", "a\\u206ab\\xadc\\u180ed\\u3164e\\uffa0"),
    ("a\U000e0100", "a\\U000e0100"),
    ("\ud800", "\\ud800"),
    ("\U000e0041", "\\U000e0041"),
    ("Ünï – 漢字 👩‍🚀 naïve", "Ünï – 漢字 👩‍🚀 naïve"),
    ("[bold]x[/bold]", "[bold]x[/bold]"),
]


@pytest.mark.parametrize(("text", "expected"), HOSTILE)
def test_what_controls_a_terminal_is_escaped_and_nothing_else(text: str, expected: str) -> None:
    assert one_line(text) == several_lines(text) == expected


def test_line_ends_are_kept_only_where_lines_may_end() -> None:
    assert one_line("a\n\tb") == "a\\n\\tb"
    assert several_lines("a\n\tb\x1b") == "a\n\tb\\x1b"


@pytest.mark.parametrize(("text", "_"), HOSTILE)
def test_json_holds_the_same_value_on_one_safe_line(text: str, _: str) -> None:
    line = json_line({"value": text})
    assert json.loads(line) == {"value": text}
    assert line == one_line(line)


def test_json_stays_readable() -> None:
    assert json_line({"name": "Zoë\x9b"}) == '{"name": "Zoë\\u009b"}'


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1", "\uff20SUM(A1)"])
def test_a_formula_becomes_text(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=b", "1-2", "'x", " =1"])
def test_other_text_stays(text: str) -> None:
    assert spreadsheet_cell(text) == text


def test_a_long_text_ends_with_an_ellipsis() -> None:
    assert (shortened("abc", 3), shortened("abcd", 3), shortened("", 3)) == ("abc", "abc…", "")
