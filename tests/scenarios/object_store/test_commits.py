"""Spark and delta-rs commit with conditional puts. Many writers commit each version once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from infra.lake import compaction, object_store
from infra.settings import Settings
from tests.support.faults.racing_writers import Writer, create_table, race, ready_writers, require_rows_once
from tests.support.servers.s3_server import LOST
from tests.support.servers.s3_store import BUCKET, S3Server, settings_on

COMMITS = {"spark-1": 4, "spark-2": 4, "rust-1": 15, "rust-2": 15, "rust-3": 15}


@pytest.fixture(scope="module")
def settings(store: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = settings_on(store, tmp_path_factory.mktemp("commits"), "commits")
    object_store.register_stores(settings)
    return settings


@pytest.fixture(scope="module")
def writers(settings: Settings) -> Iterator[dict[str, Writer]]:
    """Two Spark writers and three delta-rs writers, all ready."""
    with ready_writers(settings, COMMITS) as writers:
        yield writers


def test_of_concurrent_conditional_puts_one_succeeds(store: S3Server) -> None:
    """Checks the test's S3 server with boto3."""

    def put(number: int) -> int:
        try:
            store.client.put_object(Bucket=BUCKET, Key="once", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError as e:
            return int(e.response["ResponseMetadata"]["HTTPStatusCode"])
        return 200

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(put, range(24))) == [200] + [412] * 23


def test_a_commit_whose_response_is_lost_is_not_repeated(
    store: S3Server, settings: Settings, writers: dict[str, Writer]
) -> None:
    path = f"{settings.lake_root}/{LOST}/table"
    for name in ("spark-1", "spark-2", "rust-1"):
        writers[name].send("append", path, 1, 2)
        assert writers[name].answer() == "done"
    expected = [(name, number) for name in ("spark-1", "spark-2", "rust-1") for number in (1, 2)]
    require_rows_once(store, path, expected, len(expected) - 1)


def test_writers_of_both_kinds_race_and_every_row_is_there_once(
    store: S3Server, settings: Settings, writers: dict[str, Writer]
) -> None:
    refused = race(settings, store, writers, COMMITS)
    assert [line for line in refused if "Hadoop" in line] != []
    assert [line for line in refused if "Hadoop" not in line] != []


def test_after_a_checkpoint_each_reads_what_all_wrote(settings: Settings, writers: dict[str, Writer]) -> None:
    path = f"{settings.lake_root}/raced"
    compaction.checkpoint(path)
    for name in ("spark-1", "rust-1"):
        writers[name].send("append", path, 100, 1)
        assert writers[name].answer() == "done"
    for name in ("spark-2", "rust-2"):
        writers[name].send("sum", path)
        assert int(writers[name].answer()) == 2 * sum(range(1, 5)) + 3 * sum(range(1, 16)) + 200


def test_the_check_finds_an_overwritten_commit(store: S3Server, settings: Settings, writers: dict[str, Writer]) -> None:
    """This is what a store without conditional puts would do."""
    path = create_table(settings, "replaced")
    writers["rust-1"].send("append", path, 1, 3)
    assert writers["rust-1"].answer() == "done"
    expected = [("rust-1", 1), ("rust-1", 2), ("rust-1", 3)]
    require_rows_once(store, path, expected, 3)
    log = path.removeprefix(f"s3a://{BUCKET}/") + "/_delta_log"
    body = store.client.get_object(Bucket=BUCKET, Key=f"{log}/{2:020}.json")["Body"].read()
    assert json.loads(body.splitlines()[0])
    store.client.put_object(Bucket=BUCKET, Key=f"{log}/{1:020}.json", Body=body)
    with pytest.raises(AssertionError):
        require_rows_once(store, path, expected, 3)
