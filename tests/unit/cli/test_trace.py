"""What a record holds never reaches the terminal as a command, and `lk trace` says of it what the live page says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.trace import print_trace, trace
from core.identifiers import Name
from flows.live_page.trace_page import stages_of
from flows.trace.kafka_record import content
from flows.trace.stages import (
    ArchivedRecord,
    Content,
    Decoded,
    KafkaRecord,
    PartialRow,
    RedriveLink,
    RouteCopy,
    Row,
    RunEpoch,
    ServedSide,
    Side,
    Trace,
    ViewBuild,
    ViewPartials,
    ViewTrace,
)
from infra.settings import Settings

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
        views=(ViewTrace(Name("v"), "rollup", True, (row,), (partials,), (), side, EVIL, EVIL, (), (row,)),),
        problems=(EVIL,),
    )


def test_control_characters_and_markup_are_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(evil())
    printed = capsys.readouterr().out
    assert [letter for letter in printed if not letter.isprintable() and letter != "\n"] == []
    assert printed.count(SHOWN) >= 10


def test_it_names_the_epochs_of_a_folded_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(evil())
    assert "0 to 19" in capsys.readouterr().out


@pytest.mark.parametrize(("side", "code"), [("batch", 0), ("not yet", 0), ("missing", 1), ("twice", 1)])
def test_it_exits_with_1_where_a_view_miscounts_the_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, side: Side, code: int
) -> None:
    (view,) = evil().views
    traced = replace(evil(), views=(replace(view, served=ServedSide(side, True, side)),))
    monkeypatch.setattr("cli.trace.load_settings", lambda: Settings(data=tmp_path))
    monkeypatch.setattr("flows.trace.trace_record.trace_record", lambda *_, **__: traced)
    assert trace.main(["trades", "0", "7"], standalone_mode=False) == code


def problems() -> Trace:
    """A record whose stages cannot be read, or say something of it."""
    partials = ViewPartials(
        Name("r000001"), "speed.v", 3, missing=("a partial row",), note="a note", problem="no table"
    )
    build = ViewBuild(Name("b000001"), True, 9, True, "batch.v", missing=("a row",), note="old", problem="no build")
    side = ServedSide("batch", None, "build b000001 may count it", problem="no answer")
    return Trace(
        topic=Name("t"),
        partition=0,
        offset=7,
        record=KafkaRecord("unknown", problem="no broker"),
        decoded=Decoded("quarantined", "quarantine", rules=("not_json",), problem="no rule"),
        redriven=RedriveLink(copy="t/0/9", note="sent again", problem="no log"),
        runs=(RunEpoch(Name("r000001"), "serving", "waiting", note="behind", problem="no manifest"),),
        archives=(ArchivedRecord(Name("d1"), False, "archive.t", 1, 9, note="not read", problem="no archive"),),
        routes=(RouteCopy(Name("copies"), Name("x000001"), None, None, "u/0/1", "searched", "no route"),),
        views=(ViewTrace(Name("v"), "rollup", True, (), (partials,), (build,), side, "a view", "no view"),),
    )


def test_the_verb_and_the_page_say_the_same_of_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(problems())
    printed = capsys.readouterr().out
    stages = stages_of(problems())
    assert [line for stage in stages for line in stage.lines if line.partition(", table ")[0] not in printed] == []
    listed = [problem for stage in stages for problem in stage.problems]
    assert [line.removeprefix("  problem: ") for line in printed.splitlines() if "problem: " in line] == listed
    assert len(listed) == 12
