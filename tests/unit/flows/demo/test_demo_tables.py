"""The printed report of the demo: purposes, totals, definitions, warnings and texts to copy."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cli.output import plain
from flows.demo.demo_tables import show
from flows.demo.run_demo import Demo
from tests.support.examples.demo_example import DEMO


def printed(demo: Demo, capsys: pytest.CaptureFixture[str]) -> str:
    show(demo)
    return capsys.readouterr().out


def cells(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell.strip()]


def test_every_purpose_and_the_totals_of_each_topic_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [[cell.strip() for cell in cells(line)] for line in printed(DEMO, capsys).splitlines()]
    assert ["trades", "during the rollback", "3,100"] in lines
    assert sum(row[:1] == ["trades"] and len(row) == 3 for row in lines) == 6
    assert ["access_log", "10,000", "10,000", "9,999", "traffic_by_hour", "9,999", "✓"] in lines
    assert ["traffic_by_path", "9,999", "✓"] in lines
    assert ["trades", "444,000", "444,000", "444,000", "trades_by_day", "444,000", "✓"] in lines


def test_pause_latency_and_freshness_are_each_defined_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(DEMO, capsys).splitlines()
    for word in ("pause: ", "latency: ", "freshness: ", "n: "):
        assert any(line.startswith(word) for line in lines), word


def test_failed_warnings_are_named_and_their_absence_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with_warning = printed(DEMO, capsys)
    assert "no quality warnings" not in with_warning
    row = next(line for line in with_warning.splitlines() if "no_match" in line)
    assert row.split() == ["b000001", "topic:access_log", "no_match", "1", "records", "that", "break", "no_match"]
    assert "no quality warnings" in printed(replace(DEMO, warnings=()), capsys).splitlines()


def test_the_snippets_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    long_line = f"print({'1 + ' * 60}1)"
    connection = replace(DEMO.connection, python=f"import trino\n{long_line}\n")
    lines = printed(replace(DEMO, connection=connection), capsys).splitlines()
    assert lines[lines.index("import trino") + 1] == long_line
    assert DEMO.connection.jdbc in lines
    assert not any("Not the usual ports" in line for line in lines)
    moved = replace(connection, other_ports="trino_port is 20001, as 18082 is in use")
    assert "Not the usual ports: trino_port is 20001, as 18082 is in use." in printed(
        replace(DEMO, connection=moved), capsys
    )


def test_the_result_is_json_with_what_was_sent_and_the_answers_around_each_change() -> None:
    document = json.loads(json.dumps(plain(DEMO)))
    assert sum(sent["count"] for sent in document["sent"]) == 454_000
    assert document["topics"][1]["views"] == {"trades_by_day": 444_000, "trade_stats": 444_000}
    assert document["switched"]["timelines"]["rollback"] == [{"since": 0.3, "seconds": 0.6, "mode": "lambda"}]
    assert document["problems"] == []
