"""Every verb that changes something is audited: arguments and outcome, and its begin if it changes what is served."""

from __future__ import annotations

import hashlib
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
from core.sealed_text import seal
from infra.control import audit
from infra.control.audit import append, last_rows
from infra.lake import table_paths
from infra.personal import key_store
from infra.settings import Settings
from tests.support.command import here, write_config
from tests.unit.cli.test_help import commands

READ_ONLY = {
    *("setup", "down", "status", "logs", "topics", "views check", "views test", "views", "route status", "rights"),
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


def run(config: Path, verb: Any, *words: str, **kind: bool) -> Any:
    """Runs a verb of the test below a root like ours."""
    root = click.Group("lk", params=[click.Option(["--config"], type=click.Path(path_type=Path))])
    function = audited(**kind)(verb)
    options: list[click.Parameter] = [
        click.Option(["--why"]),
        click.Option(["--plan"], is_flag=True),
        click.Option(["--rate"], type=float),
        click.Option(["--token"], multiple=True),
    ]
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
        *("batch", "publish", "switch kappa", "switch lambda", "rollback", "speed start", "restore", "repair", "erase"),
        "cleanup",
    }


def test_every_verb_that_deletes_or_shows_a_text_or_sends_repairs_has_a_row_before_it_begins() -> None:
    verbs = {" ".join(words): command.callback for words, command in commands(lk)}
    begins = {name for name, callback in verbs.items() if getattr(callback, "begins", False)}
    published = {name for name, callback in verbs.items() if getattr(callback, "changes_served", False)}
    assert begins - published == {
        *("reveal", "quarantine redrive", "retire", "route retire", "replay abandon", "topics apply"),
        "rights apply",
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
    stderr = capsys.readouterr().err
    assert "lk: warning: the audit has no row of this outcome" in stderr
    assert "\x1b" not in stderr


def test_a_text_of_a_token_is_shown_only_after_the_row_that_says_so(
    settings: Settings, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_store.keys_of(settings, ["ann"])["ann"]
    token = seal(key.key, key.pseudonym, "ann@example.org")
    assert here(config, "reveal", token).ok().out == "ann@example.org\n"
    begin, end = entries(settings)
    assert [entry["state"] for entry in (begin, end)] == ["begin", "end"]
    assert json.loads(begin["arguments"]) == {"tokens": [token]}

    def no_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(audit, "append", no_disk)
    refused = here(config, "reveal", token)
    assert (refused.code, refused.out, "the audit cannot be written" in refused.err) == (1, "", True)


def test_without_a_lake_no_text_is_shown(tmp_path: Path, config: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    key = key_store.keys_of(settings, ["ann"])["ann"]
    refused = here(config, "reveal", seal(key.key, key.pseudonym, "ann@example.org"))
    assert (refused.code, refused.out) == (1, "")
    assert "`lk reveal` needs the audit, and there is no lake" in refused.err


def test_arguments_that_are_zero_are_kept_and_those_not_given_left_out(settings: Settings, config: Path) -> None:
    run(config, lambda **_: 0, "--rate=0")
    assert json.loads(entries(settings)[0]["arguments"]) == {"rate": 0.0}


def test_long_arguments_stay_json_with_a_count_and_a_digest_of_what_is_left_out(
    settings: Settings, config: Path
) -> None:
    tokens = [f"e1{number:0100}" for number in range(300)]
    run(config, lambda **_: 0, "--why=" + "é" * 20_000, *(f"--token={token}" for token in tokens))
    text = entries(settings)[0]["arguments"]
    arguments = json.loads(text)
    assert len(text) < 12_000
    kept = arguments["token"]["kept"]
    assert 30 < len(kept) < 300
    assert tokens[: len(kept)] == kept
    assert arguments["token"]["left_out"] == 300 - len(kept)
    assert arguments["token"]["sha256"] == hashlib.sha256(json.dumps(tokens[len(kept) :]).encode()).hexdigest()
    why = arguments["why"]
    assert len(why["kept"]) > 500
    assert (why["kept"] + "é" * why["left_out"], len(why["sha256"])) == ("é" * 20_000, 64)


def test_up_is_in_the_audit_and_starts_the_servers_also_without_one(
    settings: Settings, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flows.stack.up", lambda *_: ())
    here(config, "up").ok()
    (end,) = entries(settings)
    assert (end["verb"], end["state"], end["exit"]) == ("up", "end", 0)
    monkeypatch.setattr(audit, "append", no_disk)
    started = here(config, "up").ok()
    assert "lk: warning: the audit has no row of this outcome" in started.err


def test_up_of_a_new_instance_creates_the_lake_and_is_its_first_row(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.local.local_stack.start_servers", lambda *_: ())
    monkeypatch.setattr("infra.kafka.topic_admin.apply_topics", lambda *_: ())
    here(config, "up").ok()
    assert [entry["verb"] for entry in entries(Settings(data=tmp_path / "data"))] == ["up"]


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
