"""The configuration of each client of an object store. It never holds a credential."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.lake import object_store
from infra.local import trino_server
from infra.settings import Settings

ENDPOINT = "http://127.0.0.1:9000"


def settings_on_s3(tmp_path: Path, **changed: str) -> Settings:
    return Settings(data=tmp_path, lake="s3://bucket/lake", **changed)  # type: ignore[arg-type]


def s3a(settings: Settings) -> dict[str, str]:
    conf = object_store.spark_conf(settings)
    return {name.removeprefix("spark.hadoop.fs.s3a."): value for name, value in conf.items()}


def test_a_place_on_s3_has_one_name(tmp_path: Path) -> None:
    settings = settings_on_s3(tmp_path, checkpoints="s3n://bucket/cp/")
    assert (settings.lake_root, settings.checkpoint_root) == ("s3a://bucket/lake", "s3a://bucket/cp")
    assert object_store.uri(settings.lake_root) == "s3://bucket/lake"


def test_a_lake_on_a_disk_configures_no_store(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert not object_store.is_used(settings)
    assert object_store.spark_conf(settings) == {}
    assert object_store.delta_options(settings.lake_root) == {}
    assert trino_server._catalog(settings)["local.location"] == str(tmp_path / "lake")


def test_checkpoints_alone_on_s3_use_the_store(tmp_path: Path) -> None:
    assert object_store.is_used(Settings(data=tmp_path, checkpoints="s3a://bucket/cp"))


def test_without_an_endpoint_it_is_aws(tmp_path: Path) -> None:
    settings = settings_on_s3(tmp_path)
    assert {"endpoint", "endpoint.region", "path.style.access"} & s3a(settings).keys() == set()
    assert s3a(settings)["connection.ssl.enabled"] == "true"
    assert {"s3.endpoint", "s3.region"} & trino_server._catalog(settings).keys() == set()
    assert s3a(settings_on_s3(tmp_path, s3_region="eu-central-1"))["endpoint.region"] == "eu-central-1"


def test_an_endpoint_is_in_the_configuration_of_each_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "_check", lambda *_: None)
    settings = settings_on_s3(tmp_path, s3_endpoint=ENDPOINT)
    object_store.register_stores(settings)
    assert s3a(settings) == {
        "aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        "input.stream.type": "classic",
        "buffer.dir": str(tmp_path / "run" / "spark" / "s3a"),
        "create.conditional.enabled": "true",
        "connection.ssl.enabled": "false",
        "endpoint": ENDPOINT,
        "path.style.access": "true",
        "endpoint.region": "us-east-1",
    }
    assert object_store.delta_options("s3a://bucket/lake/batch/v/b000001") == {
        "AWS_CONDITIONAL_PUT": "etag",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ENDPOINT_URL": ENDPOINT,
        "AWS_REGION": "us-east-1",
    }
    assert trino_server._catalog(settings) == {
        "connector.name": "delta_lake",
        "hive.metastore": "file",
        "fs.native-s3.enabled": "true",
        "hive.metastore.catalog.dir": "s3://bucket/lake/_metastore",
        "s3.endpoint": ENDPOINT,
        "s3.path-style-access": "true",
        "s3.region": "us-east-1",
        "delta.register-table-procedure.enabled": "true",
        "delta.metadata.cache-ttl": "0s",
    }


@pytest.mark.parametrize("url", ["store:9000", "ftp://store", "http://user:password@store"])
def test_an_endpoint_is_a_url_without_a_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match="s3_endpoint"):
        settings_on_s3(tmp_path, s3_endpoint=url)
