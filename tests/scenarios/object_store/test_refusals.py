"""What is wrong with the store is said before anything is done: what, where, what to do; what is served stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.local.ports import free_ports
from infra.settings import LOOPBACK
from tests.support.command import lk, write_config
from tests.support.s3_store import BUCKET
from tests.support.world import World

VERBS = ("batch", "status")


def config(world: World, folder: Path, **changed: object) -> Path:
    """The world's servers and another place for the lake, in a data folder that is new."""
    settings = world.settings
    names = ("kafka_port", "kafka_controller_port", "trino_port", "airflow_port", "lake", "checkpoints", "s3_endpoint")
    values = {name: getattr(settings, name) for name in names} | {"data": str(folder / "data")} | changed
    return write_config(folder / "lk.toml", values)


def refused(config: Path, code: int, what: str, where: str, fix: str) -> None:
    """Every verb says the same, and ends with this code."""
    for verb in VERBS:
        done = lk(config, verb, "--json")
        assert done.code == code, done.said
        assert what in done.json["error"]
        assert where in done.json["where"]
        assert fix in done.json["fix"]


def test_a_bucket_that_is_not_there(world: World, tmp_path: Path) -> None:
    before = world.pieces.served()
    wrong = config(world, tmp_path, lake="s3a://no-such-bucket/lake")
    refused(wrong, 1, "the bucket does not exist", f"s3a://no-such-bucket, {world.settings.s3_endpoint}", "LK_LAKE")
    assert world.pieces.served() == before


def test_an_endpoint_that_does_not_answer(world: World, tmp_path: Path) -> None:
    before = world.pieces.served()
    endpoint = f"http://{LOOPBACK}:{free_ports(1)[0]}"
    wrong = config(world, tmp_path, s3_endpoint=endpoint)
    refused(wrong, 75, "the object store does not answer", f"s3a://{BUCKET}, {endpoint}", "LK_S3_ENDPOINT")
    assert world.pieces.served() == before


@pytest.mark.parametrize("key", [None, "somebody-else"])
def test_no_credentials_or_wrong_ones(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    before = world.pieces.served()
    if key:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    else:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    refused(config(world, tmp_path), 1, "refuses our credentials", f"s3a://{BUCKET}", "environment, profile, role")
    monkeypatch.undo()
    assert world.pieces.served() == before


def test_what_is_served_is_still_exact(world: World) -> None:
    world.check()
