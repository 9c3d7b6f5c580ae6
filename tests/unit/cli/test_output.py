"""Output for people: counts with thousands separators, ids and offsets without, times with a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import click
import pytest

from cli.output import emit, line, plain, table
from core.cut import Cut


def printed(capsys: pytest.CaptureFixture[str], value: object, *, ids: tuple[str, ...] = ()) -> str:
    """The only cell of a table, without its frame."""
    table("", ["column"], [(value,)], ids=ids)
    return capsys.readouterr().out.splitlines()[3].strip("│ ")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1234567, "1,234,567"),
        (Decimal("1234.50"), "1,234.50"),
        (1234.5, "1,234.500"),
        (True, "yes"),
        (None, ""),
        ("[b]", "[b]"),
        ("\\[link=https://evil.example]x[/link]", "\\[link=https://evil.example]x[/link]"),
        ("\x1b[2Jgone\nline", "\\x1b[2Jgone\\nline"),
        (datetime(2026, 3, 14, 1, 2, 3, 4_000, UTC), "2026-03-14 01:02:03.004 UTC"),
        (datetime(2026, 3, 14, 1, tzinfo=timezone(timedelta(hours=2))), "2026-03-13 23:00:00.000 UTC"),
    ],
)
def test_a_cell_is_printed_for_people(capsys: pytest.CaptureFixture[str], value: object, expected: str) -> None:
    assert printed(capsys, value) == expected


def test_process_ids_and_offsets_have_no_thousands_separators(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, 1234567, ids=("column",)) == "1234567"


def test_a_line_is_printed_whole_and_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = "lake/" + "x" * 300 + " [bold]"
    line(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_titles_and_columns_are_text_too(capsys: pytest.CaptureFixture[str]) -> None:
    table("[red]title\x1b", ["\x1b[2J[b]x"], [("a",)])
    printed_lines = capsys.readouterr().out.splitlines()
    assert printed_lines[0].strip() == "[red]title\\x1b"
    assert printed_lines[2].strip("┃ ") == "\\x1b[2J[b]x"


def test_a_line_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    line("a\x1b[31m\rb\nc")
    assert capsys.readouterr().out == "a\\x1b[31m\\rb\nc\n"


def test_json_is_exact_and_safe(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"text": "\x1b[2J\u202e\x9b"}, lambda _: None)
    assert capsys.readouterr().out == ""
    with click.Context(click.Command("lk"), info_name="lk") as context:
        context.meta["json"] = True
        emit({"text": "\x1b[2J\u202e\x9b"}, lambda _: None)
    assert capsys.readouterr().out == '{\n  "text": "\\u001b[2J\\u202e\\u009b"\n}\n'


def test_json_holds_cuts_times_and_bytes_as_text() -> None:
    cut = Cut.of({"trades": {0: 5}})
    values = {"cut": cut, "at": datetime(2026, 3, 14, tzinfo=UTC), "bytes": b"a\xff", "sum": Decimal("1.10")}
    assert plain(values) == {
        **{"cut": {"trades": {"0": 5}}, "at": "2026-03-14T00:00:00+00:00"},
        **{"bytes": "a\\xff", "sum": "1.10"},
    }
