"""Reads the files of topics, views and routes: this project's folder ``views`` and those of the setting ``views``."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.route import Route
from core.topic import Topic
from core.validation.definition import mistakes
from core.validation.mistake import Mistake
from core.validation.view_mistakes import total_mistakes
from core.view import View
from infra.project_files import VIEWS
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_KINDS = {"TOPIC": "Topic", "VIEW": "Rollup or Keyed", "ROUTE": "Route"}
Definition = Topic | View | Route


@dataclass(frozen=True, order=True)
class DefinitionProblem:
    """One mistake, where a person finds it."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True)
class _Defined:
    path: Path
    what: Definition


def load(settings: Settings) -> Catalog:
    """Every topic, view and route; Refused with all mistakes when there is one."""
    catalog, found = _read(settings)
    if found:
        listed = "\n  ".join(map(str, found))
        raise Refused(
            f"definitions have {len(found)} mistake{'s' if len(found) > 1 else ''}:\n  {listed}",
            fix="correct the files; `lk views check` looks for more",
        )
    return catalog


def problems(settings: Settings) -> list[DefinitionProblem]:
    """Every mistake that can be seen without Spark, by file and line."""
    return _read(settings)[1]


def spark_problems(spark: SparkSession, catalog: Catalog) -> list[DefinitionProblem]:
    """Every mistake in the SQL of topics, views and routes, by file and line; the catalog must come from ``load``."""
    from infra.definitions.check_sql import sql_mistakes

    found: list[DefinitionProblem] = []
    definitions: list[Definition] = [*catalog.topics.values(), *catalog.views.values(), *catalog.routes.values()]
    for definition in definitions:
        path = Path(catalog.files[_kind(definition), definition.name])
        found.extend(_located(path, definition, sql_mistakes(spark, definition, catalog)))
    return sorted(set(found))


def trino_problems(settings: Settings, catalog: Catalog) -> list[DefinitionProblem]:
    """Every mistake in presentation columns, as Trino sees them. Raises TryAgain when Trino is not there."""
    from infra.definitions.check_sql import shown_sql
    from infra.trino.metastore import SqlRefused, query

    found: list[DefinitionProblem] = []
    for view in catalog.views.values():
        for name, sql in shown_sql(view).items():
            try:
                query(settings, sql)
            except SqlRefused as e:
                path = Path(catalog.files["view", view.name])
                found.extend(_located(path, view, [Mistake("Shown", name, e.what)]))
    return sorted(set(found))


def _read(settings: Settings) -> tuple[Catalog, list[DefinitionProblem]]:
    defined: list[_Defined] = []
    found: list[DefinitionProblem] = []
    for folder in dict.fromkeys((VIEWS, *settings.views)):
        if not folder.is_dir():
            found.append(
                DefinitionProblem(
                    str(folder), 1, "there is no such folder; it is named by the setting views (LK_VIEWS)"
                )
            )
        for path in sorted(folder.glob("*.py")):
            if not path.name.startswith("_"):
                _read_file(path, defined, found)
    first: dict[tuple[str, str], _Defined] = {}
    for one in defined:
        other = first.setdefault((_kind(one.what), str(one.what.name)), one)
        if other is not one:
            text = f"{_kind(one.what)} {one.what.name!r} is defined already, in {other.path}"
            found.extend(_located(one.path, one.what, [Mistake(type(one.what).__name__, one.what.name, text)]))
    topics = {one.what.name: one.what for one in first.values() if isinstance(one.what, Topic)}
    views = {one.what.name: one.what for one in first.values() if isinstance(one.what, View)}
    routes = {one.what.name: one.what for one in first.values() if isinstance(one.what, Route)}
    for one in first.values():
        found.extend(_located(one.path, one.what, mistakes(one.what, topics)))
        if isinstance(one.what, View):
            found.extend(_located(one.path, one.what, list(total_mistakes(one.what, views))))
    if found:
        return Catalog({}, {}), sorted(set(found))
    files = {key: str(one.path) for key, one in first.items()}
    return Catalog(_named(topics), _named(views), files, _named(routes)), []


def _named(things: dict[str, T]) -> dict[Name, T]:
    return {Name(name): things[name] for name in sorted(things)}


def _kind(definition: Definition) -> str:
    return "view" if isinstance(definition, View) else type(definition).__name__.lower()


def _read_file(path: Path, defined: list[_Defined], found: list[DefinitionProblem]) -> None:
    try:
        module = _module(path)
    except SyntaxError as e:
        found.append(DefinitionProblem(str(path), e.lineno or 1, f"not Python: {e.msg}"))
        return
    except Exception as e:  # whatever a user's file raises is that file's mistake
        lines = [frame.lineno for frame in traceback.extract_tb(e.__traceback__) if frame.filename == str(path)]
        found.append(DefinitionProblem(str(path), (lines or [1])[-1] or 1, f"{type(e).__name__}: {e}"))
        return
    here = [
        (name, kind) for name, kind in (("TOPIC", Topic), ("VIEW", View), ("ROUTE", Route)) if hasattr(module, name)
    ]
    if not here:
        found.append(
            DefinitionProblem(str(path), 1, "defines neither TOPIC nor VIEW nor ROUTE; a helper's name begins with _")
        )
    for name, kind in here:
        value = getattr(module, name)
        if isinstance(value, kind) and isinstance(value.name, str):
            defined.append(_Defined(path, value))
        else:
            found.append(
                DefinitionProblem(str(path), _line(path, "", name), f"{name} must be a {_KINDS[name]} with a name")
            )


def _module(path: Path) -> ModuleType:
    """The file as a module of its own name, so that files of two folders do not hide each other."""
    name = f"lk_definition_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _located(path: Path, definition: Definition, found: list[Mistake]) -> Iterator[DefinitionProblem]:
    for one in found:
        line = _line(path, one.kind, one.name, type(definition).__name__, one.again)
        yield DefinitionProblem(str(path), line, one.text)


def _line(path: Path, kind: str, name: str, fallback: str = "", again: bool = False) -> int:
    """Where ``kind(name, ...)`` is called, else any ``kind(...)``, else ``name`` is set, else the definition's call."""
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
    named = [word.value for word in call.keywords if word.arg in ("name", "number")]
    given = [*call.args[:1], *named]
    return str(given[0].value) if given and isinstance(given[0], ast.Constant) else ""
