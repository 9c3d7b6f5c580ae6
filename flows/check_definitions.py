"""Every mistake in definition files, found without any data, in a process of their own: the files are code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import LkError, TryAgain, from_document
from core.safe_text import several_lines
from infra.child_environment import child_environment
from infra.definitions import passed_checks, presentation_sql
from infra.definitions.definition_problem import DefinitionProblem
from infra.definitions.isolation import without_secrets
from infra.definitions.presentation_sql import PresentationQuery
from infra.progress_bar import console
from infra.settings import Settings

_LONGEST = 100_000  # bytes of what the child says


def check(settings: Settings) -> list[DefinitionProblem]:
    """Mistakes in the files; if there are none, the mistakes that Spark and Trino report in their SQL.

    Spark checks what is new or has changed since it passed (``passed_checks``), Trino all. A child without secrets and
    without the network reads the files (``isolated_check``). Trino is asked from here.
    """
    answer = _answer_of_child(settings)
    if answer["network"]:
        _warn(f"the files were run with the network: {answer['network']}")
    problems = [DefinitionProblem(**problem) for problem in answer["problems"]]
    if "passed" in answer:
        passed_checks.write_passed(settings, answer["passed"])
    return problems or _presentation(settings, [PresentationQuery(**query) for query in answer["presentation"]])


def _answer_of_child(settings: Settings) -> dict[str, Any]:
    public = settings.model_copy(update={"spark_conf": without_secrets(settings.spark_conf)})
    environment = without_secrets(os.environ) | child_environment(public)
    with tempfile.TemporaryDirectory(prefix="lk-check-") as folder:
        file = Path(folder, "answer.json")
        words = [sys.executable, "-m", "flows.isolated_check", str(file)]
        child = _run(words, environment, Path(folder, "stderr"))
        if not file.exists():
            what = f"the process that checks definition files ended with {child.returncode}"
            raise LkError(what, fix="read what it printed")
        answer: dict[str, Any] = json.loads(file.read_text("utf-8"))
    if "error" in answer:
        raise from_document(answer["error"])
    return answer


def _run(words: list[str], environment: Mapping[str, str], log: Path) -> subprocess.CompletedProcess[bytes]:
    """Runs a process away from the terminal, which its text would steer and its ioctls would type into."""
    none = subprocess.DEVNULL
    with log.open("w+b") as errors:
        child = subprocess.run(
            words, env=environment, stdin=none, stdout=none, stderr=errors, start_new_session=True, check=False
        )
        errors.seek(0)
        text = errors.read(_LONGEST).decode("utf-8", "replace").rstrip("\n")
    if text:
        print(several_lines(text), file=sys.stderr, flush=True)
    return child


def _presentation(settings: Settings, queries: list[PresentationQuery]) -> list[DefinitionProblem]:
    """Mistakes in presentation columns, whose SQL only Trino can check."""
    try:
        return presentation_sql.trino_problems(settings, queries)
    except TryAgain:
        _warn("Trino is not up, so presentation columns were not checked; start it: `lk up`")
        return []


def _warn(text: str) -> None:
    console().print(several_lines(text), style="yellow", markup=False)
