"""What a record holds never reaches the terminal as a command, and never as markup."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cli.trace import print_trace
from core.identifiers import Name
from flows.trace.kafka_record import content
from flows.trace.stages import (
    Content,
    Decoded,
    KafkaRecord,
    PartialRow,
    RedriveLink,
    Row,
    ServedSide,
    Trace,
    ViewPartials,
    ViewTrace,
)

EVIL = "\x1b[2Jred [bold]bold[/bold] \\[link=http://x]x[/link] :bug: \u202eabc\r\n\x07"
SHOWN = "\\x1b[2Jred [bold]bold[/bold] \\[link=http://x]x[/link] :bug: \\u202eabc\\r\\n\\x07"


def evil() -> Trace:
    value: Content | None = content(EVIL.encode())
    row: Row = {"key": EVIL, "_rows": 1}
    partials = ViewPartials(Name("r000001"), "table", 3, (PartialRow(row, 0, 19, 1),), missing=(EVIL,), note=EVIL)
    side = ServedSide("speed", True, EVIL, rows=(row,), sql="SELECT 1")
    return Trace(
        topic=Name("t"),
        partition=0,
        offset=7,
        record=KafkaRecord(
            "there", 0, 8, datetime(2026, 1, 1, tzinfo=UTC), "CreateTime", value, value, ((EVIL, value),)
        ),
        decoded=Decoded("event", "archive", {"field": EVIL}),
        redriven=RedriveLink(original=EVIL),
        runs=(),
        archives=(),
        routes=(),
        views=(ViewTrace(Name("v"), "rollup", True, (row,), (partials,), (), side, EVIL, EVIL),),
        problems=(EVIL,),
    )


def test_control_characters_and_markup_are_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(evil())
    printed = capsys.readouterr().out
    assert [letter for letter in printed if not letter.isprintable() and letter != "\n"] == []
    assert printed.count(SHOWN) >= 9


def test_it_names_the_epochs_of_a_folded_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(evil())
    assert "0 to 19" in capsys.readouterr().out
