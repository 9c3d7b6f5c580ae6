"""Commits to an object store are conditional puts: racing writers write each row once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.lake import object_store
from tests.support.faults.racing_writers import race, ready_writers
from tests.support.servers.s3_store import S3Server, s3_server, settings_on

COMMITS = {"rust-1": 12, "rust-2": 12, "rust-3": 12}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("store")) as store:
        yield store


def test_writers_race_and_every_row_is_there_once(store: S3Server, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = settings_on(store, tmp_path_factory.mktemp("commits"), "commits")
    object_store.register_stores(settings)
    with ready_writers(settings, COMMITS) as writers:
        assert race(settings, store, writers, COMMITS) != []
