"""Errors of the object store: each verb reports what, where and a fix before it changes anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.local.ports import free_ports
from infra.settings import LOOPBACK
from tests.support.command import lk, write_config
from tests.support.instances.world import World
from tests.support.servers.s3_store import BUCKET

VERBS = ("batch", "status")


def write_changed_config(world: World, folder: Path, **changes: object) -> Path:
    """A configuration with the servers of the instance, a new data folder and the changes."""
    settings = world.settings
    copied = ("kafka_port", "kafka_controller_port", "trino_port", "airflow_port", "lake", "checkpoints", "s3_endpoint")
    values = {name: getattr(settings, name) for name in copied} | {"data": str(folder / "data")} | changes
    return write_config(folder / "lk.toml", values)


def check_refused(config: Path, code: int, error: str, where: str, fix: str) -> None:
    """Checks that each verb fails with this exit code, error, place and fix."""
    for verb in VERBS:
        answer = lk(config, verb, "--json")
        assert answer.code == code, answer.said
        assert error in answer.json["error"]
        assert where in answer.json["where"]
        assert fix in answer.json["fix"]


def test_a_bucket_that_is_not_there(world: World, tmp_path: Path) -> None:
    served_before = world.pieces.served()
    config_file = write_changed_config(world, tmp_path, lake="s3a://no-such-bucket/lake")
    check_refused(
        config_file, 1, "the bucket does not exist", f"s3a://no-such-bucket, {world.settings.s3_endpoint}", "LK_LAKE"
    )
    assert world.pieces.served() == served_before


def test_an_endpoint_that_does_not_answer(world: World, tmp_path: Path) -> None:
    served_before = world.pieces.served()
    endpoint = f"http://{LOOPBACK}:{free_ports(1)[0]}"
    config_file = write_changed_config(world, tmp_path, s3_endpoint=endpoint)
    check_refused(config_file, 75, "the object store does not answer", f"s3a://{BUCKET}, {endpoint}", "LK_S3_ENDPOINT")
    assert world.pieces.served() == served_before


@pytest.mark.parametrize("key", [None, "somebody-else"])
def test_no_credentials_or_wrong_ones(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    served_before = world.pieces.served()
    if key:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    else:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    check_refused(
        write_changed_config(world, tmp_path),
        1,
        "refuses our credentials",
        f"s3a://{BUCKET}",
        "environment, profile, role",
    )
    monkeypatch.undo()
    assert world.pieces.served() == served_before


def test_what_is_served_is_still_exact(world: World) -> None:
    world.check()
