"""Reads the files of topics, views and routes: this project's folder ``views`` and those of the setting ``views``."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from core.catalog import Catalog
from core.errors import Refused
from core.example import Example
from core.identifiers import Name
from core.route import Route
from core.topic import Topic
from core.validation.definition import mistakes
from core.validation.mistake import Mistake
from core.validation.view_mistakes import total_mistakes
from core.view import Total, View
from infra.definitions.definition_problem import Definition, DefinitionProblem, line_of, located_problems
from infra.definitions.sealed_catalog import with_erasures, with_sealed_fields
from infra.definitions.slow_patterns import pattern_mistakes
from infra.project_files import VIEWS
from infra.settings import Settings

T = TypeVar("T")
_KINDS = {"TOPIC": "Topic", "VIEW": "Rollup or Keyed", "ROUTE": "Route"}


@dataclass(frozen=True)
class _Located:
    path: Path
    definition: Definition
    example: Example | None = None


def load(settings: Settings) -> Catalog:
    """Every topic, view and route, with the erasures of the lake. Raises Refused with all mistakes if there is one."""
    return with_erasures(settings, _correct(settings))


def load_files(settings: Settings) -> Catalog:
    """Every topic, view and route from the files alone, without erasures. Raises Refused as ``load``."""
    return with_sealed_fields(_correct(settings))


def load_usable(settings: Settings) -> tuple[Catalog, list[DefinitionProblem]]:
    """What the files without mistakes define, apart from what needs a file with mistakes; and the mistakes."""
    catalog, problems = _read(settings)
    return with_erasures(settings, catalog), problems


def usable_topics(settings: Settings) -> Iterable[Name]:
    """The topics that files without mistakes define, from the files alone: the lake is not asked."""
    return with_sealed_fields(_read(settings)[0]).topics


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


def _read(settings: Settings) -> tuple[Catalog, list[DefinitionProblem]]:
    located, problems = _read_folders(settings)
    first: dict[tuple[str, str], _Located] = {}
    for item in located:
        definition = item.definition
        other = first.setdefault((_kind(definition), str(definition.name)), item)
        if other is not item:
            text = f"{_kind(definition)} {definition.name!r} is defined already, in {other.path}"
            mistake = Mistake(type(definition).__name__, definition.name, text)
            problems.extend(located_problems(item.path, definition, [mistake]))
    topics, views = _topics_and_views(first.values())
    for item in first.values():
        wrong = [*mistakes(item.definition, topics), *pattern_mistakes(item.definition)]
        problems.extend(located_problems(item.path, item.definition, wrong))
        if isinstance(item.definition, View):
            problems.extend(located_problems(item.path, item.definition, list(total_mistakes(item.definition, views))))
    broken = {problem.file for problem in problems}
    usable = {key: item for key, item in first.items() if str(item.path) not in broken}
    return _catalog(_without_broken_sources(usable)), sorted(set(problems))


def _topics_and_views(located: Iterable[_Located]) -> tuple[dict[str, Topic], dict[str, View]]:
    definitions = [item.definition for item in located]
    topics = {definition.name: definition for definition in definitions if isinstance(definition, Topic)}
    views = {definition.name: definition for definition in definitions if isinstance(definition, View)}
    return topics, views


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
    topics, views = _topics_and_views(located.values())
    routes = {item.definition.name: item.definition for item in located.values() if isinstance(item.definition, Route)}
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


def definition_key(definition: Definition) -> tuple[str, str]:
    """Its kind and its name, such as ``("view", "v")``."""
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
        problems.append(DefinitionProblem(str(path), line_of(path, "", "EXAMPLE"), "EXAMPLE must be an Example"))
    for name, kind in constants:
        value = getattr(module, name)
        if isinstance(value, kind) and isinstance(value.name, str):
            located.append(_Located(path, value, _example(module) if kind is View else None))
        else:
            text = f"{name} must be a {_KINDS[name]} with a name"
            problems.append(DefinitionProblem(str(path), line_of(path, "", name), text))


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
