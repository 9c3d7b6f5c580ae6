"""Names explain themselves: no class stands twice with another meaning, and no local name says nothing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from infra.project_files import ROOT

PACKAGES = ("cli", "core", "infra", "batch", "speed", "serving", "flows", "views", "dags", "tests")
ONE_MEANING = {"TryAgain"}  # of Airflow's own kind in dags/, where our packages are not installed
EMPTY_NAMES = {
    "found",
    "one",
    "known",
    "done",
    "wanted",
    "held",
    "asked",
    "said",
    "some",
    "theirs",
    "tmp",
    "res",
    "obj",
}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


def test_no_public_class_has_the_name_of_another() -> None:
    classes = [node.name for _, tree in trees() for node in tree.body if isinstance(node, ast.ClassDef)]
    assert len(classes) > 200
    repeated = {name for name, count in Counter(classes).items() if count > 1 and not name.startswith("_")}
    assert repeated == ONE_MEANING


def test_no_local_name_says_nothing() -> None:
    stored = [
        (path, node.lineno, node.id)
        for path, tree in trees()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    assert len(stored) > 5_000
    assert [f"{path}:{line}: {name}" for path, line, name in stored if name in EMPTY_NAMES] == []
