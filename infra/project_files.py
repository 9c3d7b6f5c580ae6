"""Files that belong to the project and are not code: views, DAGs, runbooks, the sample log, the committed study."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # the clone, or site-packages
_BUNDLED = Path(__file__).with_name("bundled")  # where a wheel puts these files: see pyproject.toml


def _path(name: str) -> Path:
    bundled = _BUNDLED / name
    return bundled if bundled.exists() else ROOT / name


VIEWS = ROOT / "views"
DAGS = _path("dags")
RUNBOOKS = _path("docs/runbooks")
COMMITTED_STUDY = _path("docs/report/raw.parquet")
ACCESS_LOG = _path("data") / "apache-access-2015-05.log.gz"
