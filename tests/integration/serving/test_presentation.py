"""Presentation columns are Trino SQL. Trino checks them before any data exists."""

from __future__ import annotations

from pathlib import Path

from infra.definitions.definition_files import load
from infra.definitions.presentation_sql import PresentationQuery, presentation_queries, trino_problems
from infra.settings import Settings

VIEW = """
from core.measures import Count, Latest
from core.view import Key, Rollup, Shown

VIEW = Rollup(
    "sizes",
    ("trades",),
    keys=(Key("ticker", "ticker"),),
    measures=(Count("trades"), Latest("size", "size", type="bigint")),
    shown=(
        Shown("double_size", "size * 2"),
        Shown("wrong", "size / nothing"),
        Shown("unread", "size /"),
    ),
)
"""


def test_mistakes_in_presentation_columns(stack: Settings, tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text(VIEW)
    problems = trino_problems(stack, presentation_queries(load(Settings(views=(tmp_path,)))))
    assert [(Path(p.file).name, p.line) for p in problems] == [("sizes.py", 12), ("sizes.py", 13)]
    assert "Column 'nothing' cannot be resolved" in problems[0].text
    assert "mismatched input" in problems[1].text


def test_what_definition_files_answer_is_validated_and_never_run(stack: Settings) -> None:
    assert trino_problems(stack, [PresentationQuery("a.py", 1, "SELECT 1 / 0")]) == []
    (problem,) = trino_problems(stack, [PresentationQuery("a.py", 1, "SELECT 1; SELECT 1")])
    assert "mismatched input ';'" in problem.text
