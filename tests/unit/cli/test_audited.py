"""Every verb that changes something is audited: arguments and outcome, and its begin if it changes what is served."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import click
import pytest

from cli import audited as audited_module
from cli.audited import audited
from cli.root import lk
from core.errors import Refused, TryAgain
from infra.control import audit
from infra.control.audit import append, last_rows
from infra.lake import table_paths
from infra.settings import Settings
from tests.support.command import here, write_config
from tests.unit.cli.test_help import commands

READ_ONLY = {
    *("setup", "up", "down", "status", "logs", "topics", "views check", "views test", "views", "route status"),
    *("speed status", "replay status", "replay wait", "runs", "query", "show", "get", "publications", "quality"),
    *("quarantine list", "quarantine counts", "quarantine export", "scrub", "audit list", "audit verify"),
    *("completion", "demo", "bench", "study", "report", "plan", "trace", "ui", "init"),
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path / "data")
    table_paths.open_lake(settings)
    return settings


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})


def run(config: Path, verb: Any, *words: str, changes_served: bool = False) -> Any:
    """Runs a verb of the test below a root like ours."""
    root = click.Group("lk", params=[click.Option(["--config"], type=click.Path(path_type=Path))])
    function = audited(changes_served=changes_served)(verb)
    options: list[click.Parameter] = [click.Option(["--why"]), click.Option(["--plan"], is_flag=True)]
    root.add_command(click.Command("act", callback=function, params=options))
    return root(["--config", str(config), "act", *words], prog_name="lk", standalone_mode=False)


def entries(settings: Settings) -> list[dict[str, Any]]:
    return [dict(row.entry) for row in reversed(last_rows(settings, 10))]


def test_every_verb_is_audited_or_listed_here_as_one_that_changes_nothing() -> None:
    verbs = {" ".join(words): command for words, command in commands(lk) if not isinstance(command, click.Group)}
    unaudited = {name for name, verb in verbs.items() if not hasattr(verb.callback, "audited")}
    assert unaudited == READ_ONLY & verbs.keys()
    assert {"batch", "publish", "rollback", "switch kappa", "switch lambda", "cleanup"} <= verbs.keys() - unaudited


def test_every_verb_that_publishes_has_a_row_before_it_begins() -> None:
    verbs = {" ".join(words): command.callback for words, command in commands(lk)}
    publishing = {name for name, callback in verbs.items() if getattr(callback, "changes_served", False)}
    assert publishing == {
        *("batch", "publish", "switch kappa", "switch lambda", "rollback", "speed start", "rebuild", "repair", "erase")
    }


def test_a_verb_that_changes_what_is_served_has_a_row_before_and_after(
    settings: Settings, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LK_APPROVED_BY", "ada")
    monkeypatch.setattr("pwd.getpwuid", lambda _: type("Entry", (), {"pw_name": "grace"}))
    seen = []
    run(config, lambda **_: seen.append(len(last_rows(settings, 10))), "--why=drill", changes_served=True)
    begin, end = entries(settings)
    assert seen == [1]
    assert (begin["state"], end["state"], end["began"], end["exit"], end["error"]) == ("begin", "end", 1, 0, "")
    for entry in (begin, end):
        assert (entry["verb"], json.loads(entry["arguments"])) == ("act", {"why": "drill"})
        assert (entry["who"], entry["approved_by"]) == ("grace", "ada")
        assert entry["before"] == {"publication": 0}
    assert end["after"] == {"publication": 0}


@pytest.mark.parametrize(
    ("raised", "exit_code", "text"),
    [
        (Refused("no such build"), 1, "no such build"),
        (TryAgain("a lease is held"), 75, "a lease is held"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError("odd"), 1, "ValueError: odd"),
    ],
)
def test_a_verb_that_fails_has_a_row_with_the_reason(
    settings: Settings, config: Path, raised: BaseException, exit_code: int, text: str
) -> None:
    def fails(**_: object) -> None:
        raise raised

    with pytest.raises((type(raised), click.Abort)):
        run(config, fails)
    (end,) = entries(settings)
    assert (end["state"], end["exit"], end["error"]) == ("end", exit_code, text)


def test_the_exit_code_that_a_verb_returns_is_its_outcome(settings: Settings, config: Path) -> None:
    assert run(config, lambda **_: 1) == 1
    assert entries(settings)[0]["exit"] == 1


def test_a_plan_changes_nothing_and_has_no_row(settings: Settings, config: Path) -> None:
    run(config, lambda **_: None, "--plan", changes_served=True)
    assert entries(settings) == []


def test_without_a_lake_the_answer_of_the_verb_counts_and_nothing_is_created(tmp_path: Path, config: Path) -> None:
    verb = here(config, "publish")
    assert (verb.code, "no build was claimed yet" in verb.err) == (1, True), verb.said
    assert not (tmp_path / "data" / "lake").exists()


def test_what_changes_what_is_served_is_refused_when_the_audit_cannot_be_written(
    settings: Settings, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device \x1b]0;mine\x07")

    monkeypatch.setattr(audit, "append", no_disk)
    with pytest.raises(Refused, match=r"the audit cannot be written: OSError: .*No space left"):
        run(config, lambda **_: pytest.fail("it began"), changes_served=True)
    assert run(config, lambda **_: 0) == 0
    said = capsys.readouterr().err
    assert "lk: warning: the audit has no row of this outcome" in said
    assert "\x1b" not in said


def test_list_and_verify(settings: Settings, config: Path) -> None:
    run(config, lambda **_: 0, "--why=one")
    append(settings, {"at": "t", "who": "eve", "approved_by": "", "verb": "x", "arguments": "{}", "state": "begin"})
    listed = here(config, "audit", "list", "--limit", "1", "--json").ok().json
    assert [(row["seq"], row["entry"]["who"]) for row in listed] == [(2, "eve")]
    text = here(config, "audit", "list").ok().out
    assert "begins" in text
    assert "exit 0" in text
    hashed = listed[0]["hash"]
    lines = here(config, "audit", "verify").ok().out.splitlines()
    assert lines == ["2 rows checked, the chain is intact", f"head      row 2, {hashed}"]
    assert here(config, "audit", "verify", "--json").ok().json == {"rows": 2, "broken": "", "hash": hashed}
    first = next(Path(audit.TABLE.path(settings)).glob("*.parquet"))
    first.unlink()
    assert here(config, "audit", "verify").code == 1


def test_the_state_of_a_damaged_table_stops_no_verb(config: Path, settings: Settings) -> None:
    assert audited_module._state(settings) == {"publication": 0}


def test_the_person_of_an_erasure_is_not_in_the_audit(
    settings: Settings, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("ann@example.org\n"))
    assert here(config, "erase", "--why", "asked").code == 1
    begin, end = entries(settings)
    assert [json.loads(entry["arguments"]) for entry in (begin, end)] == [{"why": "asked"}] * 2
    assert end["error"] == "no topic has sealed fields, so no person can be erased"
