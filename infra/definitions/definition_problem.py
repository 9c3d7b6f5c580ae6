"""Mistakes in definition files, each with its file and the line of the call that it is in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.route import Route
from core.topic import Topic
from core.validation.mistake import Mistake
from core.view import View

Definition = Topic | View | Route


@dataclass(frozen=True, order=True)
class DefinitionProblem:
    """One mistake, with its file and line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"

    @property
    def not_used(self) -> str:
        """That the definition is not used, for people who use the others."""
        return f"not used, because of a mistake: {self}"


def located_problems(path: Path, definition: Definition, mistakes: list[Mistake]) -> Iterator[DefinitionProblem]:
    """The mistakes of a definition, each with its line."""
    for mistake in mistakes:
        line = line_of(path, mistake.kind, mistake.name, type(definition).__name__, mistake.again)
        yield DefinitionProblem(str(path), line, mistake.text)


def line_of(path: Path, kind: str, name: str, fallback: str = "", again: bool = False) -> int:
    """The line of ``kind(name, ...)``, else of any ``kind(...)``, of ``name = ...`` or of the definition's call."""
    tree = ast.parse(path.read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    same = [call for call in calls if _called(call) == kind]
    exact = [call for call in same if _first(call) == name]
    if exact or same:
        return (exact or same)[-1 if again else 0].lineno
    sets = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    lines = [
        node.lineno for node in sets for target in node.targets if isinstance(target, ast.Name) and target.id == name
    ]
    return (lines or [call.lineno for call in calls if _called(call) == fallback] or [1])[0]


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _first(call: ast.Call) -> str:
    """The name in a call: its first argument, else ``name=`` or ``number=``."""
    keywords = [keyword.value for keyword in call.keywords if keyword.arg in ("name", "number")]
    names = [*call.args[:1], *keywords]
    return str(names[0].value) if names and isinstance(names[0], ast.Constant) else ""
