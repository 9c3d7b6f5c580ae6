"""Reads the files of topics, views and routes: this project's folder ``views`` and those of the setting ``views``."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from core.catalog import Catalog
from core.errors import Refused
from core.example import Example
from core.identifiers import Name
from core.route import Route
from core.topic import Topic
from core.validation.definition import mistakes
from core.validation.mistake import Mistake
from core.validation.view_mistakes import total_mistakes
from core.view import Keyed, Total, View
from infra.definitions.sealed_catalog import with_erasures, with_sealed_fields
from infra.definitions.slow_patterns import pattern_mistakes
from infra.project_files import VIEWS
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_KINDS = {"TOPIC": "Topic", "VIEW": "Rollup or Keyed", "ROUTE": "Route"}
Definition = Topic | View | Route


@dataclass(frozen=True, order=True)
class DefinitionProblem:
    """One mistake, with its file and line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True)
class PresentationQuery:
    """A query of Trino, invalid if the SQL of a presentation column is, and where that column is defined."""

    file: str
    line: int
    sql: str


@dataclass(frozen=True)
class _Located:
    path: Path
    definition: Definition
    example: Example | None = None


def load(settings: Settings) -> Catalog:
    """Every topic, view and route, with the erasures of the lake. Raises Refused with all mistakes if there is one."""
    return with_erasures(settings, _correct(settings))


def load_files(settings: Settings) -> Catalog:
    """The same without erasures, from the files alone."""
    return with_sealed_fields(_correct(settings))


def load_usable(settings: Settings) -> tuple[Catalog, list[DefinitionProblem]]:
    """What the files without mistakes define, apart from what needs a file with mistakes; and the mistakes."""
    catalog, problems = _read(settings)
    return with_erasures(settings, catalog), problems


def _correct(settings: Settings) -> Catalog:
    catalog, problems = _read(settings)
    if problems:
        raise mistakes_refused(problems)
    return catalog


def require_usable(settings: Settings, catalog: Catalog, *needed: tuple[str, str]) -> None:
    """Raises Refused with all mistakes when a ``needed`` definition, such as ``("view", "v")``, is not in the catalog.

    Without mistakes it raises nothing: then its file is gone, which the caller knows better how to say.
    """
    if not set(needed) <= catalog.files.keys():
        require_correct(settings)


def require_correct(settings: Settings) -> None:
    """Raises Refused with all mistakes if a file has one."""
    _correct(settings)


def mistakes_refused(problems: Sequence[DefinitionProblem]) -> Refused:
    """The error that lists all mistakes."""
    lines = "\n  ".join(map(str, problems))
    return Refused(
        f"definitions have {len(problems)} mistake{'s' if len(problems) > 1 else ''}:\n  {lines}",
        fix="correct the files; `lk views check` finds mistakes in their SQL too",
    )


def problems(settings: Settings) -> list[DefinitionProblem]:
    """Every mistake that is visible without Spark, by file and line."""
    return _read(settings)[1]


def spark_problems(spark: SparkSession, catalog: Catalog) -> list[DefinitionProblem]:
    """Every mistake in the SQL of topics, views and routes, by file and line; the catalog must come from ``load``."""
    from infra.definitions.check_sql import sql_mistakes
    from infra.definitions.unit_proof import unit_mistakes

    definitions: list[Definition] = [*catalog.topics.values(), *catalog.views.values(), *catalog.routes.values()]
    by_definition = {_key(definition): sql_mistakes(spark, definition, catalog) for definition in definitions}
    correct = {key for key, mistakes in by_definition.items() if not mistakes}
    keyed = [
        view
        for view in catalog.views.values()
        if isinstance(view, Keyed) and {_key(view), *(("topic", source) for source in view.sources)} <= correct
    ]
    by_definition |= {("view", str(name)): mistakes for name, mistakes in unit_mistakes(spark, keyed, catalog).items()}
    problems: list[DefinitionProblem] = []
    for definition in definitions:
        path = Path(catalog.files[_key(definition)])
        problems.extend(_problems(path, definition, by_definition[_key(definition)]))
    return sorted(set(problems))


def presentation_queries(catalog: Catalog) -> list[PresentationQuery]:
    """A query for each presentation column. Only Trino can check their SQL."""
    from infra.definitions.check_sql import shown_sql

    queries: list[PresentationQuery] = []
    for view in catalog.views.values():
        path = Path(catalog.files["view", view.name])
        for name, sql in shown_sql(view).items():
            queries.append(PresentationQuery(str(path), _line(path, "Shown", name, type(view).__name__), sql))
    return queries


def trino_problems(settings: Settings, queries: Sequence[PresentationQuery]) -> list[DefinitionProblem]:
    """The queries that Trino calls invalid; it runs none, as definition files may have written them.

    Raises TryAgain when it is unreachable.
    """
    from infra.trino.metastore import SqlRefused, as_reader, query

    problems: set[DefinitionProblem] = set()
    for presentation in queries:
        try:
            query(as_reader(settings), f"EXPLAIN (TYPE VALIDATE) {presentation.sql}")
        except SqlRefused as e:
            problems.add(DefinitionProblem(presentation.file, presentation.line, e.what))
    return sorted(problems)


def _read(settings: Settings) -> tuple[Catalog, list[DefinitionProblem]]:
    located, problems = _read_folders(settings)
    first: dict[tuple[str, str], _Located] = {}
    for item in located:
        definition = item.definition
        other = first.setdefault((_kind(definition), str(definition.name)), item)
        if other is not item:
            text = f"{_kind(definition)} {definition.name!r} is defined already, in {other.path}"
            mistake = Mistake(type(definition).__name__, definition.name, text)
            problems.extend(_problems(item.path, definition, [mistake]))
    definitions = [item.definition for item in first.values()]
    topics = {definition.name: definition for definition in definitions if isinstance(definition, Topic)}
    views = {definition.name: definition for definition in definitions if isinstance(definition, View)}
    for item in first.values():
        wrong = [*mistakes(item.definition, topics), *pattern_mistakes(item.definition)]
        problems.extend(_problems(item.path, item.definition, wrong))
        if isinstance(item.definition, View):
            problems.extend(_problems(item.path, item.definition, list(total_mistakes(item.definition, views))))
    broken = {problem.file for problem in problems}
    usable = {key: item for key, item in first.items() if str(item.path) not in broken}
    return _catalog(_without_broken_sources(usable)), sorted(set(problems))


def _without_broken_sources(located: dict[tuple[str, str], _Located]) -> dict[tuple[str, str], _Located]:
    """The definitions whose topics, and whose views of totals, are among them."""
    usable = {key: item for key, item in located.items() if _needs(item.definition) <= located.keys()}
    return usable if len(usable) == len(located) else _without_broken_sources(usable)


def _needs(definition: Definition) -> set[tuple[str, str]]:
    if isinstance(definition, Topic):
        return set()
    checks = definition.checks if isinstance(definition, View) else ()
    totals = {("view", check.other) for check in checks if isinstance(check, Total)}
    return totals | {("topic", source) for source in definition.sources}


def _catalog(located: dict[tuple[str, str], _Located]) -> Catalog:
    definitions = [item.definition for item in located.values()]
    topics = {definition.name: definition for definition in definitions if isinstance(definition, Topic)}
    views = {definition.name: definition for definition in definitions if isinstance(definition, View)}
    routes = {definition.name: definition for definition in definitions if isinstance(definition, Route)}
    files = {key: str(item.path) for key, item in located.items()}
    examples = {item.definition.name: item.example for item in located.values() if item.example is not None}
    return Catalog(_named(topics), _named(views), files, _named(routes), _named(examples))


def _read_folders(settings: Settings) -> tuple[list[_Located], list[DefinitionProblem]]:
    located: list[_Located] = []
    problems: list[DefinitionProblem] = []
    for folder in dict.fromkeys((VIEWS, *settings.views)):
        if not folder.is_dir():
            text = "the folder does not exist; the setting views (LK_VIEWS) names it"
            problems.append(DefinitionProblem(str(folder), 1, text))
        for path in sorted(folder.glob("*.py")):
            if not path.name.startswith("_"):
                _read_file(path, located, problems)
    return located, problems


def _named(things: dict[str, T]) -> dict[Name, T]:
    return {Name(name): things[name] for name in sorted(things)}


def _key(definition: Definition) -> tuple[str, str]:
    return _kind(definition), str(definition.name)


def _kind(definition: Definition) -> str:
    return "view" if isinstance(definition, View) else type(definition).__name__.lower()


def _read_file(path: Path, located: list[_Located], problems: list[DefinitionProblem]) -> None:
    try:
        module = _module(path)
    except SyntaxError as e:
        problems.append(DefinitionProblem(str(path), e.lineno or 1, f"not Python: {e.msg}"))
        return
    except Exception as e:  # whatever a user's file raises is a mistake in it
        lines = [frame.lineno for frame in traceback.extract_tb(e.__traceback__) if frame.filename == str(path)]
        problems.append(DefinitionProblem(str(path), (lines or [1])[-1] or 1, f"{type(e).__name__}: {e}"))
        return
    constants = [
        (name, kind) for name, kind in (("TOPIC", Topic), ("VIEW", View), ("ROUTE", Route)) if hasattr(module, name)
    ]
    if not constants:
        text = "defines neither TOPIC nor VIEW nor ROUTE; a helper's name begins with _"
        problems.append(DefinitionProblem(str(path), 1, text))
    if hasattr(module, "VIEW") and not isinstance(getattr(module, "EXAMPLE", None), Example | None):
        problems.append(DefinitionProblem(str(path), _line(path, "", "EXAMPLE"), "EXAMPLE must be an Example"))
    for name, kind in constants:
        value = getattr(module, name)
        if isinstance(value, kind) and isinstance(value.name, str):
            located.append(_Located(path, value, _example(module) if kind is View else None))
        else:
            text = f"{name} must be a {_KINDS[name]} with a name"
            problems.append(DefinitionProblem(str(path), _line(path, "", name), text))


def _example(module: ModuleType) -> Example | None:
    """The example that `lk views test` runs; a value of another type is reported as a mistake."""
    value = getattr(module, "EXAMPLE", None)
    return value if isinstance(value, Example) else None


def _module(path: Path) -> ModuleType:
    """Imports a file under a name made from its path, so that two folders may hold files of one name."""
    name = f"lk_definition_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _problems(path: Path, definition: Definition, mistakes: list[Mistake]) -> Iterator[DefinitionProblem]:
    for mistake in mistakes:
        line = _line(path, mistake.kind, mistake.name, type(definition).__name__, mistake.again)
        yield DefinitionProblem(str(path), line, mistake.text)


def _line(path: Path, kind: str, name: str, fallback: str = "", again: bool = False) -> int:
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
