"""Processes that write a Delta table in an S3 store concurrently, and the check that each row is in the table once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from infra.lake import delta
from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.command import environment, write_config
from tests.support.s3_store import BUCKET, Store
from tests.support.s3_writer import SCHEMA

Row = tuple[str, int]


class Writer:
    """A writer process and its standard streams."""

    def __init__(self, child: subprocess.Popen[str], name: str) -> None:
        self.child = child
        self.name = name

    def send(self, *words: object) -> None:
        """Sends a command without waiting for its answer."""
        assert self.child.stdin
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()

    def answer(self) -> str:
        """The next line of its output."""
        assert self.child.stdout
        line = self.child.stdout.readline().strip()
        assert line, f"{self.name} ended"
        return line


@contextmanager
def writer(settings: Settings, name: str) -> Iterator[Writer]:
    """Starts a writer in its own folder. The writer ends when its input is closed."""
    kind, folder = name.split("-")[0], settings.data / name
    folder.mkdir(parents=True)
    values = {"data": str(folder), "lake": settings.lake, "s3_endpoint": settings.s3_endpoint}
    config = write_config(folder / "lk.toml", {**values, "spark_master": "local[1]"})
    argv = [sys.executable, "-m", "tests.support.s3_writer", str(config), kind, name]
    with (folder / "log").open("w") as log:
        child = subprocess.Popen(
            argv, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            yield Writer(child, name)
        finally:
            assert child.stdin
            child.stdin.close()
            child.wait(60)


def create_table(settings: Settings, name: str) -> str:
    """Creates an empty table and returns its path."""
    path = f"{settings.lake_root}/{name}"
    delta.create(path, SCHEMA)
    return path


def require_rows_once(store: Store, path: str, expected: list[Row], commits: int) -> None:
    """Fails unless the table has each expected row once and its log has every version up to the last."""
    rows = delta.read(path).to_pylist()
    assert sorted((row["writer"], row["number"]) for row in rows) == sorted(expected)
    prefix = path.removeprefix(f"s3a://{BUCKET}/") + "/_delta_log/"
    logs = [key.removeprefix(prefix) for key in store.keys(prefix) if key.endswith(".json")]
    assert logs == [f"{version:020}.json" for version in range(commits + 1)]
