"""Prometheus's own tool accepts the metrics and the alert rules, which fire for bad values only. Skipped without it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support.checks.alert_rules import FOLDER
from tests.support.examples.live_snapshot import exposed, snapshot

MISSING = "no promtool: docs/live-page.md says how to get it"
pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason=MISSING)


@pytest.mark.parametrize("words", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")])
def test_promtool_accepts_the_rules(words: tuple[str, ...]) -> None:
    promtool = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True)
    assert promtool.returncode == 0, promtool.stdout + promtool.stderr


def check_metrics(text: str) -> tuple[int, str]:
    promtool = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    return promtool.returncode, promtool.stdout + promtool.stderr


def test_promtool_accepts_the_names_of_the_metrics() -> None:
    metrics = exposed(snapshot())
    assert check_metrics(metrics) == (0, "")
    code, complaint = check_metrics(metrics.replace("lk_publications_total", "lk_publications"))
    assert (code, "lk_publications counter metrics should have" in complaint) == (3, True)
