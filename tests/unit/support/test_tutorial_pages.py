"""The runner of tutorial pages finds a wrong command, a wrong exit code and an output that differs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.examples.tutorial_pages import Shell, commands, run_page, same_output, steps

PAGE = """
```sh
export COLOUR=blue
echo "$COLOUR" \\
  sky
false              # exit 1
```
```output
blue sky
```
Some words.
```text
this is not run
```
```python
print(21 * 2)
```
```output
42
```
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    bash = Shell(tmp_path, os.environ)
    yield bash
    bash.close()


def test_a_right_page_is_run_to_its_end(shell: Shell) -> None:
    assert run_page(PAGE, shell, {"21": "21"}) == 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('echo "$COLOUR"', "no-such-command"),
        ("false              # exit 1", "false"),
        ("false              # exit 1", "true               # exit 1"),
        ("blue sky\n", "green sky\n"),
        ("export COLOUR", "COLOUR_OF_NOTHING"),
        ("print(21 * 2)", "raise SystemExit(3)"),
        ("\n42\n", "\n43\n"),
    ],
)
def test_a_planted_mistake_is_found(shell: Shell, before: str, after: str) -> None:
    assert before in PAGE
    with pytest.raises(AssertionError):
        run_page(PAGE.replace(before, after), shell, {})


def test_a_command_that_does_not_end_is_found(shell: Shell) -> None:
    with pytest.raises(AssertionError, match="no end within 1 s"):
        shell.run("sleep 60", seconds=1)


def test_dots_stand_for_text_and_for_lines() -> None:
    printed = "begin\nrow 1  \nrow 2\nend after 3.2 s\n"
    assert same_output("begin\n…\nend after … s\n", printed)
    assert same_output("begin\nrow 1\nrow 2\nend after 3.2 s", printed)
    assert not same_output("begin\nrow 1\nend after … s\n", printed)
    assert not same_output("begin\n…\nend after … min\n", printed)


def test_blocks_and_commands_are_parsed() -> None:
    assert [(step.kind, step.output) for step in steps(PAGE)] == [("sh", "blue sky\n"), ("python", "42\n")]
    assert commands("a \\\n  b\n# a comment\n\nc  # why\n") == ["a \\\n  b", "c  # why"]
    with pytest.raises(AssertionError, match="begins with an output"):
        steps("```output\nx\n```\n")
    with pytest.raises(AssertionError, match=r"nobody runs: \{'bash'\}"):
        steps("```sh\nx\n```\n```bash\nx\n```\n")
