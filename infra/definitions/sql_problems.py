"""Mistakes in the SQL of all definitions, by file and line, which Spark finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.catalog import Catalog
from core.view import Keyed
from infra.definitions.definition_files import definition_key
from infra.definitions.definition_problem import Definition, DefinitionProblem, located_problems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_problems(spark: SparkSession, catalog: Catalog) -> list[DefinitionProblem]:
    """Every mistake in the SQL of topics, views and routes, by file and line; the catalog must come from ``load``."""
    from infra.definitions.check_sql import sql_mistakes
    from infra.definitions.unit_proof import unit_mistakes

    definitions: list[Definition] = [*catalog.topics.values(), *catalog.views.values(), *catalog.routes.values()]
    by_definition = {definition_key(definition): sql_mistakes(spark, definition, catalog) for definition in definitions}
    correct = {key for key, mistakes in by_definition.items() if not mistakes}
    keyed = [
        view
        for view in catalog.views.values()
        if isinstance(view, Keyed)
        and {definition_key(view), *(("topic", source) for source in view.sources)} <= correct
    ]
    by_definition |= {("view", str(name)): mistakes for name, mistakes in unit_mistakes(spark, keyed, catalog).items()}
    problems: list[DefinitionProblem] = []
    for definition in definitions:
        path = Path(catalog.files[definition_key(definition)])
        problems.extend(located_problems(path, definition, by_definition[definition_key(definition)]))
    return sorted(set(problems))
