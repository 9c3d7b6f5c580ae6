"""The child of `lk views check`: writes its answer to a file, ``python -m flows.isolated_check FILE``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.definitions.isolation import leave_network

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.catalog import Catalog
    from infra.definitions.sql_problems import SparkCheck
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
    """The mistakes in definition files, the queries that Trino must check, and what the next check need not repeat."""
    from infra.definitions import definition_files, passed_checks, presentation_sql

    problems = definition_files.problems(settings)
    if problems:
        return {"problems": [asdict(problem) for problem in problems], "presentation": []}
    catalog = definition_files.load_files(settings)
    digests, earlier = passed_checks.digests(settings, catalog), passed_checks.read_passed(settings)
    unchanged = {key for key, digest in digests.items() if digest in earlier}
    passed = set(unchanged)
    if len(unchanged) < len(digests):
        checked = _spark_check(settings, catalog, unchanged)
        problems, passed = checked.problems, unchanged | checked.passed
    return {
        "problems": [asdict(problem) for problem in problems],
        "presentation": [asdict(query) for query in presentation_sql.presentation_queries(catalog)],
        "passed": [digests[key] for key in passed],
    }


def _spark_check(settings: Settings, catalog: Catalog, unchanged: Collection[tuple[str, str]]) -> SparkCheck:
    from infra.definitions.sql_problems import spark_check
    from infra.spark.session import temporary_session
    from infra.spark.session_conf import short_lived

    with temporary_session(short_lived(settings), "views-check") as spark:
        return spark_check(spark, catalog, unchanged)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
