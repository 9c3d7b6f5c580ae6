"""The page of a record with its rows, from ``python -m flows.live_page.trace_rows TOPIC PARTITION OFFSET``.

That process prints the page as JSON, or the error that ended it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from core.errors import LkError, TryAgain, as_document, from_document
from core.identifiers import Name
from infra.child_environment import child_environment
from infra.settings import Settings

_PATIENCE = 180.0  # seconds; Spark takes ten of them on a quiet machine


def page_with_rows(settings: Settings, topic: str, partition: int, offset: int) -> dict[str, Any]:
    """``trace_page`` with rows, as a dictionary. Raises the errors of ``trace_page``, TryAgain if it takes too long."""
    words = [sys.executable, "-m", "flows.live_page.trace_rows", Name(topic), str(partition), str(offset)]
    environment = os.environ | child_environment(settings)
    try:
        child = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise TryAgain(f"no rows within {_PATIENCE:.0f} s", fix="try again, or use `lk trace --rows`") from None
    try:
        answer: dict[str, Any] = json.loads(child.stdout)
    except ValueError:
        raise LkError(
            f"the process that reads rows ended with {child.returncode}", fix="use `lk trace --rows`"
        ) from None
    if "error" in answer:
        raise from_document(answer["error"])
    return answer


def _main(topic: str, partition: str, offset: str) -> None:
    from flows.live_page.trace_page import trace_page
    from infra.settings.sources import read_settings

    try:
        document = asdict(trace_page(read_settings(), topic, int(partition), int(offset), rows=True))
    except LkError as e:
        document = {"error": as_document(e)}
    print(json.dumps(document, default=str))


if __name__ == "__main__":
    _main(*sys.argv[1:])
