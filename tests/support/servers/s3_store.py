"""An S3 server on the loopback address, with a bucket."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from infra.local.ports import free_ports
from infra.project_files import ROOT
from infra.settings import LOOPBACK, Settings
from tests.conftest import fresh_settings
from tests.support.waiting import eventually

BUCKET = "a-lake"
KEY_ID = "who-may"
_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": KEY_ID,
    "AWS_SECRET_ACCESS_KEY": "not-checked",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True)
class S3Server:
    """A running S3 server, with a client that shares no code with the project."""

    endpoint: str
    client: Any
    log: Path

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix, sorted."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Starts the server; processes that start in the block get its credentials from the environment."""
    settings, (port,) = Settings(data=folder), free_ports(1)
    settings.log_dir.mkdir()
    log_path = settings.log_dir / "s3.log"
    with pytest.MonkeyPatch.context() as patch, log_path.open("wb") as log:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in _CREDENTIALS.items():
            patch.setenv(name, value)
        argv = [sys.executable, "-m", "tests.support.servers.s3_server", LOOPBACK, str(port)]
        server = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            store = S3Server(f"http://{LOOPBACK}:{port}", _client(f"http://{LOOPBACK}:{port}"), log_path)
            eventually(settings, 60, lambda: _create(store.client))
            yield store
        finally:
            server.kill()
            server.wait()


def _client(endpoint: str) -> Any:
    # A session of its own: boto3's default one keeps the credentials that an earlier test of this process gave it.
    session = boto3.session.Session(_CREDENTIALS["AWS_ACCESS_KEY_ID"], _CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
    return session.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", config=Config(retries={"max_attempts": 1})
    )


def _create(client: Any) -> None:
    try:
        client.create_bucket(Bucket=BUCKET)
    except BotoCoreError as e:
        raise AssertionError(str(e)) from None


def settings_on(store: S3Server, folder: Path, name: str) -> Settings:
    """Settings of an instance whose lake and checkpoints are in the store."""
    roots = {"lake": f"s3a://{BUCKET}/{name}/lake", "checkpoints": f"s3a://{BUCKET}/{name}/checkpoints"}
    return fresh_settings(folder).model_copy(update={**roots, "s3_endpoint": store.endpoint})
