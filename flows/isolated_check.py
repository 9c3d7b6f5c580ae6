"""The child of `lk views check`: writes its answer to a file, ``python -m flows.isolated_check FILE``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.definitions.isolation import leave_network

if TYPE_CHECKING:
    from infra.settings import Settings


def main(file: Path) -> None:
    """Leaves the network, and only then imports what starts threads: a process with threads cannot leave."""
    network = leave_network()
    file.write_text(json.dumps({"network": network, **_answer()}), "utf-8")


def _answer() -> dict[str, Any]:
    """What the check found, or the error that ended it."""
    from core.errors import LkError, as_document
    from infra.error_report import reported
    from infra.settings.sources import read_settings

    try:
        return _check(read_settings())
    except LkError as e:
        error = e
    except Exception as e:  # as in cli/root.py: a person never sees a stack trace
        error = reported(e)
    return {"error": as_document(error)}


def _check(settings: Settings) -> dict[str, Any]:
    """The mistakes in definition files, and the queries that Trino must check."""
    from infra.definitions import definition_files, presentation_sql, sql_problems
    from infra.spark.session import temporary_session

    problems = definition_files.problems(settings)
    if problems:
        return _document(problems)
    catalog = definition_files.load_files(settings)
    with temporary_session(settings, "views-check") as spark:
        problems = sql_problems.spark_problems(spark, catalog)
    return _document(problems, presentation_sql.presentation_queries(catalog))


def _document(problems: list[Any], presentation: list[Any] | None = None) -> dict[str, Any]:
    return {"problems": [asdict(p) for p in problems], "presentation": [asdict(q) for q in presentation or []]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
