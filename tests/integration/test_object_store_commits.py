"""Commits to an object store are conditional puts: racing writers write each row once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from infra.lake import object_store
from tests.support.racing_writers import create_table, require_rows_once, writer
from tests.support.s3_server import REFUSED
from tests.support.s3_store import Store, s3_server, settings_on

COMMITS = {"rust-1": 12, "rust-2": 12, "rust-3": 12}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with s3_server(tmp_path_factory.mktemp("store")) as store:
        yield store


def test_writers_race_and_every_row_is_there_once(store: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = settings_on(store, tmp_path_factory.mktemp("commits"), "commits")
    object_store.register_stores(settings)
    path = create_table(settings, "raced")
    with ExitStack() as running:
        writers = {name: running.enter_context(writer(settings, name)) for name in COMMITS}
        assert [child.answer() for child in writers.values()] == ["ready"] * len(COMMITS)
        for name, child in writers.items():
            child.send("append", path, 1, COMMITS[name])
        assert [child.answer() for child in writers.values()] == ["done"] * len(COMMITS)
    expected = [(name, number) for name, count in COMMITS.items() for number in range(1, count + 1)]
    require_rows_once(store, path, expected, len(expected))
    refused = [line for line in store.log.read_text("utf-8").splitlines() if line.startswith(REFUSED)]
    assert [line for line in refused if "/raced/_delta_log/" in line] != []
