"""Commits to an object store are conditional puts: of writers that race each row is there once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from infra.lake import object_store
from tests.support.racing_writers import check, made, writer
from tests.support.s3_server import REFUSED
from tests.support.s3_store import Store, on, opened

COMMITS = {"rust-1": 12, "rust-2": 12, "rust-3": 12}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as one:
        yield one


def test_writers_race_and_every_row_is_there_once(store: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = on(store, tmp_path_factory.mktemp("commits"), "commits")
    object_store.register_stores(settings)
    path = made(settings, "raced")
    with ExitStack() as running:
        writers = {name: running.enter_context(writer(settings, name)) for name in COMMITS}
        assert [one.answer() for one in writers.values()] == ["ready"] * len(COMMITS)
        for name, one in writers.items():
            one.tell("append", path, 1, COMMITS[name])
        assert [one.answer() for one in writers.values()] == ["done"] * len(COMMITS)
    wanted = [(name, number) for name, count in COMMITS.items() for number in range(1, count + 1)]
    check(store, path, wanted, len(wanted))
    refused = [line for line in store.log.read_text("utf-8").splitlines() if line.startswith(REFUSED)]
    assert [line for line in refused if "/raced/_delta_log/" in line] != []
