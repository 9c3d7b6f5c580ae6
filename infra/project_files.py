"""Files that belong to the project and are not code: views, DAGs, runbooks, the sample log."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # the clone, or site-packages
_BUNDLED = Path(__file__).with_name("bundled")  # where a wheel puts data/, dags/ and docs/runbooks/: see pyproject.toml


def _folder(name: str) -> Path:
    bundled = _BUNDLED / name
    return bundled if bundled.is_dir() else ROOT / name


VIEWS = ROOT / "views"
DAGS = _folder("dags")
RUNBOOKS = _folder("docs/runbooks")
ACCESS_LOG = _folder("data") / "apache-access-2015-05.log.gz"
