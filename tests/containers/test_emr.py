"""`lk` of Airflow's machines: one file that runs a verb as a job run of EMR Serverless, and answers as the verb does.

AWS is moto's; what it does not do, running the job, a shim does: by the very entry point and arguments that were given.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import moto.emrserverless.models as emr_models
import pytest
import requests
from moto.server import ThreadedMotoServer

from images.mwaa.pack import pack
from infra import emr
from infra.settings import LOOPBACK
from tests.conftest import free_ports
from tests.support.command import ROOT, environment

REGION, BUCKET = "eu-central-1", "lk-test"
ROLE = "arn:aws:iam::123456789012:role/jobs"


@dataclass
class Cloud:
    """An application of EMR Serverless whose jobs a shim runs when somebody looks at them."""

    env: dict[str, str]
    application: str = ""
    runs: bool = True
    jobs: list[Any] = field(default_factory=list)

    def client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": REGION}
        return boto3.client(service, endpoint_url=self.env["AWS_ENDPOINT_URL"], **keys)

    def look(self, job: Any) -> None:
        """What EMR does: the state follows from the exit code of the driver."""
        submit = job.job_driver["sparkSubmit"]
        if submit in self.jobs:
            return
        self.jobs.append(submit)
        if not self.runs:
            job.state = "RUNNING"
            return
        entry = ROOT / "images" / "jobs" / Path(submit["entryPoint"].removeprefix("local://")).name
        done = subprocess.run(
            [sys.executable, str(entry), *submit["entryPointArguments"]],
            env=self.env | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        job.state, job.state_details = ("SUCCESS" if done.returncode == 0 else "FAILED"), done.stderr[-300:]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    [port] = free_ports(1)
    server = ThreadedMotoServer(LOOPBACK, port, verbose=False)
    server.start()
    found = Cloud(
        environment()
        | {"AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{port}", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
        | {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    )
    asked = emr_models.EMRServerlessBackend.get_job_run

    def get_job_run(self: Any, application_id: str, job_run_id: str) -> Any:
        job = asked(self, application_id, job_run_id)
        found.look(job)
        return job

    monkeypatch.setattr(emr_models.EMRServerlessBackend, "get_job_run", get_job_run)
    requests.post(f"{found.env['AWS_ENDPOINT_URL']}/moto-api/reset", timeout=10).raise_for_status()
    try:
        found.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        new = found.client("emr-serverless").create_application(name="lk", releaseLabel="emr-7.0.0", type="SPARK")
        found.application = new["applicationId"]
        yield found
    finally:
        server.stop()


def settings_file(cloud: Cloud, folder: Path, **more: str) -> Path:
    [port] = free_ports(1)
    place = f"s3://{BUCKET}/settings/lk.toml"
    values = {"emr_application": cloud.application, "emr_role": ROLE, "emr_settings": place}
    told = {"data": str(folder / "data"), "lake": f"s3a://{BUCKET}/lake", "trino_host": LOOPBACK, "trino_port": port}
    lines = [f"{name} = {json.dumps(value)}" for name, value in (values | told | more).items()]
    cloud.client("s3").put_object(Bucket=BUCKET, Key="settings/lk.toml", Body="\n".join(lines).encode())
    file = folder / "lk.toml"
    file.write_text("\n".join(lines), "utf-8")
    return file


def lk(cloud: Cloud, folder: Path, *words: str) -> subprocess.Popen[str]:
    """`lk` as Airflow's machines have it: out of the zip file, alone, found in PATH."""
    pack(folder / "plugins.zip")
    zipfile.ZipFile(folder / "plugins.zip").extract("lk", folder)
    (folder / "lk").chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), cloud.env["PATH"]])
    env = cloud.env | {"PATH": path, "LK_CONFIG": str(folder / "lk.toml")}
    return subprocess.Popen(
        [str(folder / "lk"), *words], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def left(cloud: Cloud) -> list[str]:
    found = cloud.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="lake/").get("Contents", [])
    return [one["Key"] for one in found]


def test_a_verb_answers_as_it_does_at_home(cloud: Cloud, tmp_path: Path) -> None:
    settings_file(cloud, tmp_path)
    child = lk(cloud, tmp_path, "views", "--json")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    here = subprocess.run(
        [sys.executable, "-m", "cli", "views", "--json"], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert json.loads(out) == json.loads(here.stdout)
    assert "success" in err
    assert left(cloud) == []
    [job] = cloud.jobs
    assert job["entryPoint"] == "local:///opt/lk/lk_verb.py"
    assert "spark.executorEnv.PYSPARK_PYTHON=/opt/lk/venv/bin/python" in job["sparkSubmitParameters"]


def test_exit_codes_are_the_verbs_own(cloud: Cloud, tmp_path: Path) -> None:
    settings_file(cloud, tmp_path)
    child = lk(cloud, tmp_path, "query", "select 1", "--json")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, json.loads(out)["exit"]) == (75, 75), err
    child = lk(cloud, tmp_path, "no-such-verb")
    child.communicate(timeout=60)
    assert child.returncode == 2


def test_a_job_that_ends_before_its_verb_did_is_to_be_tried_again(cloud: Cloud, tmp_path: Path) -> None:
    settings_file(cloud, tmp_path, emr_entry="local:///opt/lk/nothing.py")
    child = lk(cloud, tmp_path, "views")
    _, err = child.communicate(timeout=60)
    assert child.returncode == 75
    assert "ended as FAILED before its verb did" in err


def test_who_ends_it_ends_the_job_run_too(cloud: Cloud, tmp_path: Path) -> None:
    settings_file(cloud, tmp_path)
    cloud.runs = False
    child = lk(cloud, tmp_path, "batch")
    assert child.stderr is not None
    assert "running" in child.stderr.readline()
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == 130
    [job] = cloud.client("emr-serverless").list_job_runs(applicationId=cloud.application)["jobRuns"]
    assert job["state"] in ("CANCELLING", "CANCELLED")


def test_settings_that_name_no_application_are_told(cloud: Cloud, tmp_path: Path) -> None:
    settings_file(cloud, tmp_path, emr_application="")
    child = lk(cloud, tmp_path, "views")
    _, err = child.communicate(timeout=60)
    assert (child.returncode, "emr_application" in err) == (2, True)


def test_it_imports_nothing_of_ours() -> None:
    lines = Path(emr.__file__).read_text("utf-8").splitlines()
    packages = ("cli", "core", "infra", "batch", "speed", "serving", "flows", "views")
    assert [
        line
        for line in lines
        if line.strip().startswith(tuple(f"{w} {p}" for w in ("from", "import") for p in packages))
    ] == []
