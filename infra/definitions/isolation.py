"""Runs a verb of ours in a process whose environment has no secret: definition files are code, and it imports them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

_SECRET = re.compile(r"PASSWORD|PASSWD|SECRET|TOKEN|CREDENTIAL|PRIVATE|APIKEY|ACCESS_KEY|_KEY\Z|AUTH", re.IGNORECASE)
# The name of a file; and what a child of spark-submit must say to its own JVM, which is of no use elsewhere.
_KEPT = {"LK_KAFKA_PASSWORD_FILE", "PYSPARK_GATEWAY_SECRET"}


def secret_names(environment: Mapping[str, str]) -> list[str]:
    """The variables whose names say that they hold a secret."""
    return sorted(name for name in environment if _SECRET.search(name) and name not in _KEPT)


def run_without_secrets(words: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """Runs ``lk WORDS`` in a child without secrets; returns its output and exit code.

    None, and nothing was run, where our environment has no secret.
    """
    secrets = secret_names(os.environ)
    if not secrets:
        return None
    clean = {name: value for name, value in os.environ.items() if name not in secrets}
    return subprocess.run(
        [sys.executable, "-m", "cli", *words], env=clean, stdout=subprocess.PIPE, text=True, check=False
    )
