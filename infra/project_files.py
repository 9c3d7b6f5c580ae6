"""Files of the project itself, wherever it is installed: its views, its DAGs, the sample log."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEWS = ROOT / "views"
DAGS = ROOT / "dags"
ACCESS_LOG = ROOT / "data" / "apache-access-2015-05.log.gz"
