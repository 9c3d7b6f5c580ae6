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
        Shown("all_trades", "sum(trades)"),
    ),
    only="_rows > 1",
)
"""


def test_mistakes_in_presentation_columns(stack: Settings, tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text(VIEW)
    problems = trino_problems(stack, presentation_queries(load(Settings(views=(tmp_path,)))))
    assert [(Path(p.file).name, p.line) for p in problems] == [("sizes.py", line) for line in (5, 12, 13, 14)]
    assert "mismatched input" in problems[0].text  # `only` reads the columns above it
    assert "Column 'nothing' cannot be resolved" in problems[1].text
    assert "mismatched input" in problems[2].text
    assert "must be an aggregate expression or appear in GROUP BY clause" in problems[3].text


def test_only_reads_what_readers_see(stack: Settings, tmp_path: Path) -> None:
    text = VIEW.replace("size / nothing", "size").replace('size /"', 'size"').replace("sum(trades)", "trades")
    for only, mistakes in (("_rows > 1", ["Column '_rows' cannot be resolved"]), ("double_size > 1 -- some", [])):
        (tmp_path / "sizes.py").write_text(text.replace("_rows > 1", only))
        problems = trino_problems(stack, presentation_queries(load(Settings(views=(tmp_path,)))))
        assert [problem.text.split(": ")[-1] for problem in problems] == mistakes


def test_what_definition_files_answer_is_validated_and_never_run(stack: Settings) -> None:
    assert trino_problems(stack, [PresentationQuery("a.py", 1, "SELECT 1 / 0")]) == []
    (problem,) = trino_problems(stack, [PresentationQuery("a.py", 1, "SELECT 1; SELECT 1")])
    assert "mismatched input ';'" in problem.text
