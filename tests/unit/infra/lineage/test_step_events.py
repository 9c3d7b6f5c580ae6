"""A step is reported by its start and its end, and goes on whatever becomes of its events."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.errors import Refused
from infra.lineage.step_events import PARENT, Datasets, traced
from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.checks.openlineage_events import Invalid, require_valid
from tests.support.checks.openlineage_schemas import VARIABLE
from tests.support.servers.lineage_server import lineage_server

TASK = "01890000-0000-7000-8000-000000000007"


@pytest.fixture(autouse=True)
def _no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARENT, raising=False)


def settings_of(folder: Path, url: str, **changed: Any) -> Settings:
    return Settings(data=folder, lake="s3://shop/lake", s3_region="eu-west-1", lineage_url=url, **changed)


def events_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def names(of: dict[str, Any]) -> tuple[str, str]:
    """Namespace and name of the job of an event, or of a parent."""
    return of["job"]["namespace"], of["job"]["name"]


def nothing(_: object) -> Datasets:
    return Datasets()


def fails() -> None:
    raise Refused("the gate refuses the build", where="secret place")


def interrupted() -> None:
    raise KeyboardInterrupt


def test_a_step_is_its_start_and_its_end_of_one_run(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    for _ in range(2):
        assert traced(settings_of(tmp_path, str(file)), "land", "b000007", lambda: 5, nothing) == 5
    events = events_of(file)
    for event in events:
        require_valid(event)
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"] * 2
    assert {event["run"]["runId"] for event in events} == {"f3e8ae5f-4283-5759-80d1-4d85aa02f732"}
    assert names(events[0]) == ("s3://shop/lake", "land")
    assert {event["producer"] for event in events} == {"urn:lambda-kappa:lk"}


def test_a_step_that_fails_or_is_interrupted_says_so_and_raises(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    settings = settings_of(tmp_path, str(file))
    with pytest.raises(Refused, match="refuses"):
        traced(settings, "gate", "b1", fails, nothing)
    with pytest.raises(KeyboardInterrupt):
        traced(settings, "gate", "b1", interrupted, nothing)
    events = events_of(file)
    for event in events:
        require_valid(event)
    assert [event["eventType"] for event in events] == ["START", "FAIL", "START", "ABORT"]
    assert events[1]["run"]["facets"]["errorMessage"]["message"] == "the gate refuses the build"


def test_a_step_inside_another_names_it_and_the_outer_one_the_task_of_the_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "events.jsonl"
    settings = settings_of(tmp_path, str(file))
    monkeypatch.setenv(PARENT, f"airflow/lambda_batch.batch/{TASK}")
    traced(settings, "switch", "r1", lambda: traced(settings, "land", "b1", lambda: 1, nothing), nothing)
    parents = {event["job"]["name"]: event["run"]["facets"]["parent"] for event in events_of(file)}
    assert parents["switch"]["run"]["runId"] == TASK
    assert names(parents["switch"]) == ("airflow", "lambda_batch.batch")
    assert names(parents["land"]) == ("s3://shop/lake", "switch")
    monkeypatch.setenv(PARENT, "airflow/lambda_batch.batch/no-uuid")
    traced(settings, "land", "b2", lambda: 1, nothing)
    assert "parent" not in events_of(file)[-1]["run"].get("facets", {})


def test_a_server_gets_the_events_with_the_key_of_the_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("s3cret\n", "utf-8")
    with lineage_server() as server:
        settings = settings_of(tmp_path, f"{server.url}/openapi/openlineage", lineage_key_file=key)
        traced(settings, "land", "b1", lambda: 1, nothing)
    assert [event["eventType"] for event in server.events] == ["START", "COMPLETE"]
    assert {(path, login) for path, login, _ in server.requests} == {
        ("/openapi/openlineage/api/v1/lineage", "Bearer s3cret")
    }


def test_a_key_that_cannot_be_read_is_refused_before_the_step(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "http://127.0.0.1:9", lineage_key_file=tmp_path / "missing")
    with pytest.raises(Refused, match="API key for lineage cannot be read: No such file"):
        traced(settings, "land", "b1", pytest.fail, nothing)


def test_a_server_that_hangs_delays_all_steps_by_two_seconds_and_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lineage_server(hangs=True) as server:
        settings = settings_of(tmp_path, server.url)
        began = time.monotonic()
        results = [traced(settings, "land", f"b{number}", lambda: 1, nothing) for number in range(20)]
        seconds = time.monotonic() - began
    assert results == [1] * 20
    assert seconds < 4.0
    stderr = capsys.readouterr().err
    assert stderr.count("lk: warning: lineage events are lost") == 1


@pytest.mark.parametrize("code", [500, 404])
def test_a_server_that_answers_with_an_error_fails_no_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    with lineage_server(code) as server:
        settings = settings_of(tmp_path, server.url)
        assert [traced(settings, "land", "b1", lambda: 1, nothing) for _ in range(2)] == [1, 1]
    assert len(server.events) == 4
    assert capsys.readouterr().err.count("lineage events are lost") == 1


def test_a_server_that_is_away_fails_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        settings = settings_of(tmp_path, f"http://127.0.0.1:{unused.getsockname()[1]}")
        assert traced(settings, "land", "b1", lambda: 1, nothing) == 1
    assert "lineage events are lost" in capsys.readouterr().err


def test_datasets_that_cannot_be_read_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: object) -> Datasets:
        raise ValueError("no such table")

    file = tmp_path / "events.jsonl"
    assert traced(settings_of(tmp_path, str(file)), "land", "b1", lambda: 1, broken) == 1
    assert [event["inputs"] for event in events_of(file)] == [[], []]
    assert "datasets of a lineage event are unknown: ValueError: no such table" in capsys.readouterr().err


def test_without_the_setting_nothing_is_imported() -> None:
    program = (
        "import sys; import flows.lineage_steps, flows.batch_cycle; from infra.settings import Settings;"
        "from infra.lineage.step_events import traced; traced(Settings(), 'land', 'b1', lambda: 1, None);"
        "print([name for name in ('openlineage', 'sqlglot') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("planted", "reason"),
    [
        ({"eventType": "DONE"}, "eventType is 'DONE'"),
        ({"run": {}}, "has no runId"),
        ({"eventTime": "2026-01-01T00:00:00"}, "no time zone"),
        ({"job": {"namespace": "n", "name": 7}}, "name is 7"),
        ({"inputs": [{"namespace": "n"}]}, "has no name"),
        ({"colour": "red"}, "unknown keys"),
        ({"outputs": [{"namespace": "n", "name": "t", "facets": {"shape": {}}}]}, "no facet of the spec"),
        ({"run": {"runId": TASK, "facets": {"errorMessage": {"message": "m"}}}}, "has no"),
    ],
)
def test_the_checker_refuses_a_planted_mistake(tmp_path: Path, planted: dict[str, Any], reason: str) -> None:
    file = tmp_path / "events.jsonl"
    traced(settings_of(tmp_path, str(file)), "land", "b1", lambda: 1, nothing)
    event = events_of(file)[0]
    require_valid(event)
    with pytest.raises(Invalid, match=reason):
        require_valid({**event, **planted})


def test_the_published_schemas_are_asked_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {
        "$id": "https://openlineage.io/spec/2-0-2/OpenLineage.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"RunEvent": {"required": ["weather"]}},
    }
    (tmp_path / "OpenLineage.json").write_text(json.dumps(schema), "utf-8")
    file = tmp_path / "events.jsonl"
    traced(settings_of(tmp_path, str(file)), "land", "b000007", lambda: 5, nothing)
    event = events_of(file)[0]
    event["job"].pop("facets")  # their schemas are not in the folder
    monkeypatch.delenv(VARIABLE, raising=False)
    require_valid(event)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(Invalid, match="'weather' is a required property"):
        require_valid(event)
