"""moto's EMR Serverless and S3, with a shim that runs the jobs, because moto does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import moto.emrserverless.models as emr_models
import pytest
import requests
from moto.server import ThreadedMotoServer

from infra.local.ports import free_ports
from infra.project_files import ROOT
from infra.settings import LOOPBACK
from tests.support.command import environment

REGION, BUCKET = "eu-central-1", "lk-test"
ROLE = "arn:aws:iam::123456789012:role/jobs"


@dataclass
class Cloud:
    """An EMR Serverless application. The shim runs a job at the first request for its state."""

    env: dict[str, str]
    application: str = ""
    runs: bool = True
    job_state: str = "RUNNING"
    jobs: list[Any] = field(default_factory=list)

    def client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": REGION}
        return boto3.client(service, endpoint_url=self.env["AWS_ENDPOINT_URL"], **keys)

    def look(self, job: Any) -> None:
        """Runs the job once. Its state follows from the exit code of the driver, as in EMR."""
        submit = job.job_driver["sparkSubmit"]
        if submit in self.jobs:
            return
        self.jobs.append(submit)
        if not self.runs:
            job.state = self.job_state
            return
        entry = ROOT / "images" / "jobs" / Path(submit["entryPoint"].removeprefix("local://")).name
        completed = subprocess.run(
            [sys.executable, str(entry), *submit["entryPointArguments"]],
            env=self.env | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        job.state, job.state_details = ("SUCCESS" if completed.returncode == 0 else "FAILED"), completed.stderr[-300:]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    [port] = free_ports(1)
    server = ThreadedMotoServer(LOOPBACK, port, verbose=False)
    server.start()
    emulated = Cloud(
        environment()
        | {"AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{port}", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
        | {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    )
    original_get_job_run = emr_models.EMRServerlessBackend.get_job_run

    def get_job_run(self: Any, application_id: str, job_run_id: str) -> Any:
        job = original_get_job_run(self, application_id, job_run_id)
        emulated.look(job)
        return job

    monkeypatch.setattr(emr_models.EMRServerlessBackend, "get_job_run", get_job_run)
    requests.post(f"{emulated.env['AWS_ENDPOINT_URL']}/moto-api/reset", timeout=10).raise_for_status()
    try:
        emulated.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        created = emulated.client("emr-serverless").create_application(
            name="lk", releaseLabel="emr-7.0.0", type="SPARK"
        )
        emulated.application = created["applicationId"]
        yield emulated
    finally:
        server.stop()
