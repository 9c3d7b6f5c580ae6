"""core is pure: it runs no Spark job, does no I/O, and reads no clock and no environment."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import core

ROOT = Path(core.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))
PURE_IMPORTS = {
    *(
        "__future__",
        "collections",
        "cryptography",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "functools",
        "hashlib",
        "io",
    ),
    *("itertools", "json", "math", "numpy", "operator", "pydantic", "pydantic_core", "pyspark", "re", "statistics"),
    *("string", "types", "typing", "core"),
}
RUNS_A_JOB = {"collect", "count()", "toPandas", "toArrow", "toLocalIterator", "first", "head", "take", "isEmpty"}
READS_OR_WRITES = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "now", "today", "getenv", "save"}


def calls(tree: ast.AST) -> Iterator[str]:
    """Names of the functions and methods that a module calls, except those of ``pyspark.sql.functions``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_functions = isinstance(node.func.value, ast.Name) and node.func.value.id == "fn"
            yield "" if of_functions else node.func.attr if node.args else f"{node.func.attr}()"


def methods(tree: ast.AST) -> set[str]:
    """The call names with and without parentheses."""
    called = set(calls(tree))
    return called | {name.removesuffix("()") for name in called}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_of_core_runs_a_job_or_does_io(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert methods(tree) & (RUNS_A_JOB | READS_OR_WRITES) == set()


@pytest.mark.parametrize("line", ["frame.count()", "frame.collect()", "frame.write.save(x)", "open('x')", "x.take(1)"])
def test_a_job_would_be_seen(line: str) -> None:
    assert methods(ast.parse(line)) & (RUNS_A_JOB | READS_OR_WRITES)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_core_imports_only_libraries_that_do_no_io(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= PURE_IMPORTS
    assert {name for name in imported if name.startswith("pyspark")} <= {"pyspark.sql", "pyspark.sql.types"}
