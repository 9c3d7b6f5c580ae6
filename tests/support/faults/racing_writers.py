"""Processes that write a Delta table in an S3 store concurrently, and the check that each row is in the table once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from infra.lake import delta
from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.command import environment, write_config
from tests.support.servers.s3_server import REFUSED
from tests.support.servers.s3_store import BUCKET, S3Server
from tests.support.servers.s3_writer import SCHEMA

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
    argv = [sys.executable, "-m", "tests.support.servers.s3_writer", str(config), kind, name]
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


@contextmanager
def ready_writers(settings: Settings, names: Iterable[str]) -> Iterator[dict[str, Writer]]:
    """Starts a writer of each name, all at once, and waits until they are ready."""
    with ExitStack() as running:
        writers = {name: running.enter_context(writer(settings, name)) for name in names}
        assert [child.answer() for child in writers.values()] == ["ready"] * len(writers)
        yield writers


def create_table(settings: Settings, name: str) -> str:
    """Creates an empty table and returns its path."""
    path = f"{settings.lake_root}/{name}"
    delta.create(path, SCHEMA)
    return path


def race(settings: Settings, store: S3Server, writers: Mapping[str, Writer], commits: Mapping[str, int]) -> list[str]:
    """All writers append to the table "raced" at once, each its number of commits; every row must be there once.

    Returns the store's lines about the commits of that table that it refused.
    """
    path = create_table(settings, "raced")
    for name, child in writers.items():
        child.send("append", path, 1, commits[name])
    assert [child.answer() for child in writers.values()] == ["done"] * len(writers)
    expected = [(name, number) for name, count in commits.items() for number in range(1, count + 1)]
    require_rows_once(store, path, expected, len(expected))
    lines = store.log.read_text("utf-8").splitlines()
    return [line for line in lines if line.startswith(REFUSED) and "/raced/_delta_log/" in line]


def require_rows_once(store: S3Server, path: str, expected: list[Row], commits: int) -> None:
    """Fails unless the table has each expected row once and its log has every version up to the last."""
    rows = delta.read(path).to_pylist()
    assert sorted((row["writer"], row["number"]) for row in rows) == sorted(expected)
    prefix = path.removeprefix(f"s3a://{BUCKET}/") + "/_delta_log/"
    logs = [key.removeprefix(prefix) for key in store.keys(prefix) if key.endswith(".json")]
    assert logs == [f"{version:020}.json" for version in range(commits + 1)]
