"""Prometheus's own tool accepts the alert rules, and fires each for bad values only. Skipped without it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support.alert_rules import FOLDER

MISSING = "no promtool: docs/live-page.md says how to get it"
pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason=MISSING)


@pytest.mark.parametrize("words", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")])
def test_promtool_accepts_the_rules(words: tuple[str, ...]) -> None:
    promtool = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True)
    assert promtool.returncode == 0, promtool.stdout + promtool.stderr
