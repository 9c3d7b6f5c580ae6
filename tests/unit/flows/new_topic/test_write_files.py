"""`lk init` writes a topic that accepts every record of the sample. Nothing of the sample becomes code."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.catalog import Catalog
from core.errors import Refused, Usage
from core.example import example_records, expected_rows
from core.identifiers import Name
from core.topic import Topic
from core.view import Rollup
from flows.new_topic import write_files
from flows.new_topic.write_files import NewTopic, init_topic
from infra.definitions import definition_files
from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.command import here, write_config
from tests.support.records.accepted_records import broken_fields

CHARGING = ROOT / "docs" / "tutorial" / "charging.jsonl"
READINGS = (
    '{"deviceId": "d1", "at": "2026-01-01T10:10:00Z", "celsius": 20.5, "order": null}',
    '{"deviceId": "d1", "at": "2026-01-01T10:50:00+01:00", "celsius": 21.25, "order": "x"}',
    '{"deviceId": "d|2", "at": "2026-01-01T10:20:00.5Z", "celsius": -3, "order": "y"}',
    '{"deviceId": "d1", "at": "2026-01-01T13:40:00Z", "celsius": 0.5, "order": "x"}',
)


def init(folder: Path, lines: tuple[str, ...] | list[str], name: str = "readings") -> NewTopic:
    sample = folder / "sample.jsonl"
    sample.write_text("\n".join(lines) + "\n", "utf-8")
    return init_topic(Settings(), Catalog({}, {}), Name(name), sample, folder / "views")


def loaded(folder: Path) -> Catalog:
    return definition_files.load(Settings(views=(folder / "views",)))


def test_the_topic_and_the_view_of_a_small_sample(tmp_path: Path) -> None:
    new = init(tmp_path, READINGS)
    assert (new.topic, new.view, new.key, new.event_time, new.window, new.records) == (
        "readings",
        "readings_by_hour",
        "device_id",
        "at",
        "hour",
        4,
    )
    catalog = loaded(tmp_path)
    topic, view = catalog.topic("readings"), catalog.view("readings_by_hour")
    assert [(f.name, f.type, f.required, f.time_format) for f in topic.fields] == [
        ("device_id", "string", True, None),
        ("at", "timestamp", True, "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]XXX"),
        ("celsius", "decimal(18,2)", True, None),
        ("order_value", "string", False, None),
    ]
    assert topic.rules == ()
    assert isinstance(view, Rollup)
    assert [column.name for column in view.stored_columns] == [
        *("device_id", "hour", "records", "celsius_sum", "celsius_min", "celsius_max", "_rows")
    ]


def test_the_example_has_the_rows_of_plain_addition(tmp_path: Path) -> None:
    init(tmp_path, READINGS)
    catalog = loaded(tmp_path)
    view, example = catalog.view("readings_by_hour"), catalog.examples[Name("readings_by_hour")]
    assert [record.value for record in example_records(view, example)["readings"]] == list(READINGS)
    assert sorted(expected_rows(view, example)) == [
        ("d1", "2026-01-01T09:00:00Z", "1", "21.25", "21.25", "21.25"),
        ("d1", "2026-01-01T10:00:00Z", "1", "20.50", "20.50", "20.50"),
        ("d1", "2026-01-01T13:00:00Z", "1", "0.50", "0.50", "0.50"),
        ("d|2", "2026-01-01T10:00:00Z", "1", "-3.00", "-3.00", "-3.00"),
    ]


def test_what_is_unsure_is_said(tmp_path: Path) -> None:
    new = init(tmp_path, [*READINGS, "not json"])
    assert new.unsure == (
        "4 records are few: types may be too narrow for the next ones",
        "a number with more decimal places than these goes to quarantine: celsius 2",
        "lines that would go to quarantine: 1; the first is line 5: it is not JSON",
    )


def test_the_rules_of_the_sample_are_comments(tmp_path: Path) -> None:
    new = init(tmp_path, [*READINGS, READINGS[3].replace("d1", "d3")])
    text = Path(new.topic_file).read_text("utf-8")
    assert '        # Rule("celsius_seen", "celsius between -3 and 21.25"),\n' in text
    assert """        # Rule("order_value_seen", "order_value is null or order_value in ('x', 'y')"),\n""" in text
    uncommented = text.replace("# Rule(", "Rule(")
    Path(new.topic_file).write_text(uncommented)
    assert [rule.name for rule in loaded(tmp_path).topic("readings").rules] == ["celsius_seen", "order_value_seen"]


def test_no_file_is_overwritten_and_none_is_left_half_way(tmp_path: Path) -> None:
    views = tmp_path / "views"
    views.mkdir()
    (views / "readings_by_hour.py").write_text("mine")
    with pytest.raises(Refused, match="is not overwritten"):
        init(tmp_path, READINGS)
    assert {path.name: path.read_text() for path in views.iterdir()} == {"readings_by_hour.py": "mine"}


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "views").write_text("a file, where the folder should be")
    with pytest.raises(Refused, match="cannot be written"):
        init(tmp_path, READINGS)


def test_a_definition_of_that_name_is_refused(tmp_path: Path) -> None:
    shipped = definition_files.load(Settings())
    (tmp_path / "sample.jsonl").write_text("\n".join(READINGS))
    with pytest.raises(Refused, match="there is a topic 'trades' already"):
        init_topic(Settings(), shipped, Name("trades"), tmp_path / "sample.jsonl", tmp_path / "views")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"a": 1, "b": "x"}'], "none of the 2 fields is a time"),
        ([*READINGS, '{"deviceId": "d1", "celsius": 1}'], "a time in 4 of 5 records, and missing in others"),
        ([json.dumps({"at": 1767225600000} | {f"n{n}": 1 for n in range(200)})], "201 different names"),
    ],
)
def test_a_sample_without_times_or_with_names_that_are_data_is_refused(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    with pytest.raises(Refused, match=message) as refused:
        init(tmp_path, lines)
    assert refused.value.fix
    assert not (tmp_path / "views").exists()


HOSTILE = '"""\n\'; import os; os.system("x") #\\ {} {0} %s ${x} \u202e\u2028 | null'


def test_nothing_of_a_sample_becomes_code(tmp_path: Path) -> None:
    ids = ["", "null", '"', HOSTILE, HOSTILE[::-1], '"' * 7, "\\" * 3]
    lines = [
        json.dumps({"at": 1767225600000, "id": text, text: n, f"x{n}`": 1, "a.b-c": n, "version": "7"})
        for n, text in enumerate([*ids, *ids])
    ]
    new = init(tmp_path, lines)
    for file in (new.topic_file, new.view_file):
        nodes = {type(node) for node in ast.walk(ast.parse(Path(file).read_text("utf-8")))}
        assert nodes <= {
            *(ast.Module, ast.Expr, ast.Constant, ast.ImportFrom, ast.alias, ast.Assign, ast.Name, ast.Store, ast.Load),
            *(ast.Call, ast.keyword, ast.Tuple, ast.Dict),
        }
    catalog = loaded(tmp_path)
    topic, (view,) = catalog.topic("readings"), catalog.reading("readings")
    assert [field.name for field in topic.fields] == ["at", "id", "a_b_c", "version", "null_value"]
    example = catalog.examples[Name(view.name)]
    assert [json.loads(str(record.value))["id"] for record in example_records(view, example)["readings"]] == [
        *ids[:4],
        ids[0],
    ]
    assert [row[0] for row in expected_rows(view, example)] == ids[:4]
    assert any("names (the log keeps their values)" in note for note in new.unsure)
    assert all(note.isprintable() for note in new.unsure)


def test_a_record_with_the_marker_of_times_is_in_no_example(tmp_path: Path) -> None:
    marked = READINGS[0].replace("null", '"ms(2026-01-01T00:00:00Z)"')
    assert init(tmp_path, [marked, *READINGS]).unsure[-1] != write_files.NO_EXAMPLE
    example = loaded(tmp_path).examples[Name("readings_by_hour")]
    assert example.records["readings"] == READINGS
    assert init(tmp_path, [marked], "marked").unsure[-1] == write_files.NO_EXAMPLE


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = (
    st.none()
    | st.booleans()
    | NUMBERS
    | TEXT
    | st.sampled_from(["", "-", "N/A", "null", "12.50", "7", "2026-01-01", "2026-01-01T00:00:00Z", "1767225600"])
    | st.sampled_from(["1767225600.25", "2026-01-01T00:00:00.5+0100", "2026-01-01 00:00:00-02"])
    | st.lists(TEXT, max_size=2)
)
NAMES = st.sampled_from(["a", "b", "userId", "order", "x.y", "created_at", "version", "Version", "event_time", "_id"])
MOMENTS = st.datetimes(datetime(1971, 1, 2), datetime(2199, 12, 30)).map(
    lambda time: time.replace(tzinfo=UTC).isoformat(timespec="milliseconds")
)
RECORDS = st.lists(st.tuples(MOMENTS, st.dictionaries(NAMES, VALUES)), min_size=1, max_size=8)


@given(RECORDS)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_generated_topic_accepts_every_record_of_its_sample(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, dict[str, Any]]]
) -> None:
    folder = tmp_path_factory.mktemp("sample")
    lines = [json.dumps(others | {"time": time}) for time, others in records]
    new = init(folder, lines)
    catalog = loaded(folder)
    topic, view = catalog.topic("readings"), catalog.view(new.view)
    assert isinstance(topic, Topic)
    assert [broken for line in lines if (broken := broken_fields(topic, line))] == []
    if Name(view.name) in catalog.examples:
        expected_rows(view, catalog.examples[Name(view.name)])


def test_the_files_are_laid_out_as_the_formatter_does(tmp_path: Path) -> None:
    init(tmp_path, READINGS)
    init(tmp_path, CHARGING.read_text("utf-8").splitlines(), "charging")
    wide = {f"a_rather_long_name_of_a_field_{n}": n for n in range(8)} | {"at": 1767225600}
    init(tmp_path, [json.dumps(wide), json.dumps(wide)], "wide")
    init(tmp_path, ['{"at": 1767225600}'], "only_times")
    command = [sys.executable, "-m", "ruff", "format", "--diff", "--config", str(ROOT / "pyproject.toml")]
    formatted = subprocess.run([*command, str(tmp_path / "views")], capture_output=True, text=True, check=False)
    assert (formatted.returncode, formatted.stdout) == (0, "")


def test_the_verb_prints_what_it_guessed_and_what_comes_next(tmp_path: Path) -> None:
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})
    words = ("init", "charging", "--from", str(CHARGING), "--folder", str(tmp_path / "views"))
    stdout = here(config, *words).ok().out
    assert "guessed: event time started_at, key charger_id" in stdout
    assert stdout.splitlines()[-7:] == [
        f"  export LK_VIEWS={tmp_path / 'views'}",
        f"  lk -c {config} views check",
        f"  lk -c {config} views test charging_by_hour",
        f"  lk -c {config} up",
        f"  lk -c {config} produce charging --file {CHARGING}",
        f"  lk -c {config} speed start --new",
        f"  lk -c {config} show charging_by_hour",
    ]
    again = here(config, *words, "--json")
    assert (again.code, again.json["error"]) == (1, "the file exists, and is not overwritten")


@pytest.mark.parametrize("name", ["../x", "Charging", "a b", "", "x__y", "select"])
def test_an_invalid_name_writes_nothing(tmp_path: Path, name: str) -> None:
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})
    init = here(config, "init", name, "--from", str(CHARGING), "--folder", str(tmp_path / "views"))
    assert init.code == 2
    assert not (tmp_path / "views").exists()


def test_a_name_that_leaves_no_room_for_the_name_of_the_view_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Usage):
        init(tmp_path, READINGS, "x" * 58)
