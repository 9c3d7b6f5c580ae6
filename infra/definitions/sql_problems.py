"""Mistakes in the SQL of all definitions, by file and line, which Spark finds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.catalog import Catalog
from core.topic import Topic
from core.validation.mistake import Mistake
from core.view import Keyed
from infra.definitions.definition_files import definition_key
from infra.definitions.definition_problem import Definition, DefinitionProblem, located_problems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Key = tuple[str, str]  # kind and name of a definition
_AT_ONCE = 4  # definitions whose SQL Spark plans side by side


@dataclass(frozen=True)
class SparkCheck:
    """The mistakes that Spark finds, by file and line, and the definitions that it has checked and finds correct."""

    problems: list[DefinitionProblem]
    passed: frozenset[Key]


def spark_check(spark: SparkSession, catalog: Catalog, unchanged: Collection[Key] = ()) -> SparkCheck:
    """Checks the SQL of topics, views and routes but for the ``unchanged`` ones, which have passed an earlier check.

    The catalog must come from ``load``. A definition passes if those that it reads are correct, too.
    """
    from infra.definitions.check_sql import sql_mistakes
    from infra.definitions.unit_proof import unit_proof

    definitions: list[Definition] = [*catalog.topics.values(), *catalog.views.values(), *catalog.routes.values()]
    checked = [definition for definition in definitions if definition_key(definition) not in unchanged]
    topics = [definition for definition in checked if isinstance(definition, Topic)]
    others = [definition for definition in checked if not isinstance(definition, Topic)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        of_topics = list(pool.map(lambda topic: sql_mistakes(spark, topic, catalog), topics))
        wrong_rules = {topic.name for topic, of_topic in zip(topics, of_topics, strict=True) if _has_rule(of_topic)}
        of_others = list(pool.map(lambda other: sql_mistakes(spark, other, catalog, wrong_rules), others))
    by_definition = dict(zip(map(definition_key, [*topics, *others]), [*of_topics, *of_others], strict=True))
    usable = [d for d in checked if _is_correct(d, by_definition) and _reads_correct(d, by_definition)]
    proof = unit_proof(spark, [view for view in usable if isinstance(view, Keyed)], catalog)
    by_definition |= {("view", str(name)): of_view for name, of_view in proof.mistakes.items()}
    problems: list[DefinitionProblem] = []
    for definition in checked:
        path = Path(catalog.files[definition_key(definition)])
        problems.extend(located_problems(path, definition, by_definition[definition_key(definition)]))
    unproven = {("view", str(name)) for name in proof.unproven}
    passed = {definition_key(d) for d in usable if _is_correct(d, by_definition)} - unproven
    return SparkCheck(sorted(set(problems)), frozenset(passed))


def _has_rule(mistakes: Iterable[Mistake]) -> bool:
    return any(mistake.kind == "Rule" for mistake in mistakes)


def _is_correct(definition: Definition, by_definition: dict[Key, list[Mistake]]) -> bool:
    return not by_definition.get(definition_key(definition))


def _reads_correct(definition: Definition, by_definition: dict[Key, list[Mistake]]) -> bool:
    """Whether the topics that it reads are correct: otherwise its own SQL was not run."""
    return isinstance(definition, Topic) or not any(by_definition.get(("topic", s)) for s in definition.sources)
