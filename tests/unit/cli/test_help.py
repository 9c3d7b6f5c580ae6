"""`lk --help` groups the verbs. No line is cut at 80 columns. Every verb has --json and --help."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.root import SECTIONS, lk
from infra.project_files import ROOT
from tests.support.command import Done, here, write_config

GROUPS = ["Servers", "Data", "Speed", "Batch", "Kappa", "Serving", "Quality", "Upkeep", "Evidence"]


def commands(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every verb and group, by the words that a user types."""
    for name, command in group.commands.items():
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *words, name)


VERBS = dict(commands(lk))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_help_groups_the_verbs(config: Path) -> None:
    lines = here(config, "--help").ok().out.splitlines()
    headings = [line.removesuffix(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", *GROUPS]
    assert "  demo          Run real data through a fresh instance; check every number." in lines


def test_every_verb_is_in_one_group() -> None:
    listed = [str(command.name) for family in SECTIONS.values() for command in family]
    assert sorted(listed) == sorted(set(listed)) == sorted(lk.commands)


@pytest.mark.parametrize("words", [(), *VERBS], ids=" ".join)
def test_help_is_not_cut_at_80_columns(config: Path, words: tuple[str, ...]) -> None:
    lines = here(config, *words, "--help").ok().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if "..." in line and not line.startswith("Usage: ")] == []


@pytest.mark.parametrize("words", [(), *(words for words, verb in VERBS.items() if isinstance(verb, click.Group))])
def test_each_verb_has_one_line_in_the_help_of_its_group(config: Path, words: tuple[str, ...]) -> None:
    verbs = here(config, *words, "--help").ok().out.partition("  -h, --help")[2].splitlines()[1:]
    assert len([line for line in verbs if re.match("  [a-z]", line)]) >= 1
    assert [line for line in verbs if line.startswith("   ")] == []


@pytest.mark.parametrize("words", [words for words, verb in VERBS.items() if not isinstance(verb, click.Group)])
def test_every_verb_has_json(words: tuple[str, ...]) -> None:
    assert any("--json" in parameter.opts for parameter in VERBS[words].params)


def test_every_verb_says_in_one_sentence_what_it_does() -> None:
    sentences = {words: (verb.help or "").partition("\n\n")[0] for words, verb in VERBS.items()}
    assert {words: text for words, text in sentences.items() if not text.endswith(".") or "\n" in text} == {}


@pytest.mark.parametrize(
    ("words", "now"),
    [
        (("drift",), "`lk drift` is now `lk compare --served`"),
        (("reset", "--yes"), "`lk reset` is now `lk switch kappa --in-place`"),
        (("demo-airflow",), "`lk demo-airflow` is now `lk demo --airflow`"),
        (("tidy",), "`lk tidy` is now `lk cleanup`"),
        (("rebuild",), "`lk rebuild` is now `lk restore`"),
        (("quarantine", "digest"), "`lk quarantine digest` is now `lk quarantine counts`"),
        (("switch", "kappa", "--head-from-archive"), "`--head-from-archive` is now `--prefix-from-archive`"),
        (("replay", "start", "--head-from-archive"), "`--head-from-archive` is now `--prefix-from-archive`"),
        (("status", "--lines", "--every", "60"), "`--lines` is now `--json-lines`"),
        (("speed", "status", "--phases"), "`--phases` is now `--steps`"),
    ],
)
def test_an_old_spelling_answers_with_the_new_one(config: Path, words: tuple[str, ...], now: str) -> None:
    human, machine = here(config, *words), here(config, *words, "--json")
    assert (human.code, now in human.err, human.out) == (2, True, "")
    assert (machine.code, machine.json["error"], machine.json["exit"]) == (2, now, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "--served", "--run", "r000001"),
        ("switch", "kappa", "--in-place", "--plan"),
        ("switch", "kappa", "--yes"),
        ("logs", "kafka", "--follow", "--json"),
        ("status", "--every", "1"),
        ("produce", "trades"),
        ("no-such-verb",),
    ],
)
def test_a_wrong_call_is_a_usage_error(config: Path, words: tuple[str, ...]) -> None:
    assert here(config, *words).code == 2


def test_a_switch_in_place_is_refused_without_a_terminal_or_yes(config: Path) -> None:
    refused = here(config, "switch", "kappa", "--in-place", "--json")
    assert (refused.code, "--yes" in refused.json["fix"]) == (1, True)


def test_version_prints_the_version_of_the_package(config: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert here(config, "--version").ok() == Done("--version", 0, f"lk {version}\n", "")
