"""Removes rows and task logs of Airflow that are older than 90 days, every day: `python -I airflow_history.py LOGS`.

Airflow keeps the history of every task for ever. It may clean its database only outside of a task.
"""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

KEPT = timedelta(days=90)
_FIRST = timedelta(minutes=10)  # after the start, which is busy
_EVERY = timedelta(days=1)


def main(logs: Path) -> None:
    """Cleans until it is stopped."""
    time.sleep(_FIRST.total_seconds())
    while True:
        clean(logs)
        time.sleep(_EVERY.total_seconds())


def clean(logs: Path) -> None:
    """Cleans once. Airflow keeps the last run of each DAG. What fails is printed, and tried again the next day."""
    before = datetime.now(UTC) - KEPT
    words = ("--clean-before-timestamp", before.isoformat(), "--skip-archive", "--yes")
    cleaned = subprocess.run(
        ["airflow", "db", "clean", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if cleaned.returncode:
        print(f"airflow db clean failed: {cleaned.stdout[-500:]}", flush=True)
    try:
        _remove_old_files(logs, before.timestamp())
    except OSError as e:
        print(f"logs of {logs} were not removed: {e}", flush=True)


def _remove_old_files(folder: Path, before: float) -> None:
    """Removes old files below a folder, and the folders that are empty without them."""
    for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
        if path.is_dir() and not path.is_symlink():
            if path.stat().st_mtime < before and not any(path.iterdir()):
                path.rmdir()
        elif path.lstat().st_mtime < before:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
