"""Every `lk` command and every path of the project that a page names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from cli.root import lk
from infra.project_files import ROOT
from tests.unit.docs.test_docs import PACKAGES, PAGES

WRITTEN = [page for page in PAGES if page.name != "CHANGELOG.md" and "reference" not in page.parts]
FOLDERS = (*PACKAGES, "dags", "terraform", "images", "tests", "docs")


def commands(page: Path) -> list[str]:
    """Every `lk …` command in the text and in the code blocks of a page."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.M | re.S)
    lines = [
        line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for block in blocks for line in block.splitlines()
    ]
    command_lines = [line for line in lines if line.startswith("lk ")] + re.findall(r"`(lk [^`]+)`", text)
    return [re.split(r" [#;>\\]| && ", line)[0] for line in command_lines]


def unknown(command: str) -> str | None:
    """The first word of a command that `lk` does not know."""
    verb: click.Command = lk
    words = shlex.split(re.sub(r"^lk -c \S+", "lk", command))[1:]
    while isinstance(verb, click.Group) and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        if words[0] not in verb.commands:
            return words[0]
        verb, words = verb.commands[words[0]], words[1:]
    options = {"--help"} | {name for parameter in verb.params for name in parameter.opts}
    return next((word for word in words if word.startswith("--") and word not in options), None)


def test_every_command_on_a_page_exists() -> None:
    named = [(page, command) for page in WRITTEN for command in commands(page)]
    assert len(named) > 100
    assert [command for page, command in named if page.name == "README.md" and command.startswith("lk -c .demo")]
    assert [f"{page.name}: {command}: {word}" for page, command in named if (word := unknown(command))] == []


def test_an_unknown_command_is_reported() -> None:
    assert [
        unknown(command)
        for command in ("lk nothing", "lk -c a.toml nothing", "lk speed nothing", "lk batch --nothing", "lk up airflow")
    ] == [
        "nothing",
        "nothing",
        "nothing",
        "--nothing",
        None,
    ]


def test_every_path_on_a_page_exists() -> None:
    pattern = rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`"
    named = [(page, path) for page in WRITTEN for path in re.findall(pattern, page.read_text("utf-8"))]
    assert len(named) > 50
    assert [f"{page.name}: {path}" for page, path in named if not (ROOT / path).exists()] == []
