"""Every mistake in definition files, found without any data."""

from __future__ import annotations

from core.catalog import Catalog
from core.errors import TryAgain
from infra.definitions import definition_files
from infra.definitions.definition_files import DefinitionProblem
from infra.progress_bar import console
from infra.settings import Settings
from infra.spark.session import temporary_session


def check(settings: Settings) -> list[DefinitionProblem]:
    """Mistakes in the files; if there are none, the mistakes that Spark and Trino report in their SQL."""
    problems = definition_files.problems(settings)
    if problems:
        return list(problems)
    catalog = definition_files.load(settings)
    with temporary_session(settings, "views-check") as spark:
        return [*definition_files.spark_problems(spark, catalog), *_presentation(settings, catalog)]


def _presentation(settings: Settings, catalog: Catalog) -> list[DefinitionProblem]:
    """Mistakes in presentation columns, whose SQL only Trino can check."""
    try:
        return list(definition_files.trino_problems(settings, catalog))
    except TryAgain:
        console().print("Trino is not up, so presentation columns were not checked; start it: `lk up`", style="yellow")
        return []
