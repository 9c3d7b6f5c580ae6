"""`lk` on Airflow's machines: one file that runs a verb as an EMR Serverless job run and returns the verb's result.

moto emulates AWS. A shim runs the jobs with the given entry point and arguments, because moto does not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from infra import emr
from infra.local.ports import free_ports
from infra.project_files import ROOT
from infra.settings import LOOPBACK
from tests.integration.emr.conftest import BUCKET, ROLE, Cloud
from tests.support.command import environment


def settings_file(cloud: Cloud, folder: Path, **more: str | bool) -> Path:
    [port] = free_ports(1)
    settings_uri = f"s3://{BUCKET}/settings/lk.toml"
    values = {"emr_application": cloud.application, "emr_role": ROLE, "emr_settings": settings_uri}
    local_values = {
        "data": str(folder / "data"),
        "lake": f"s3a://{BUCKET}/lake",
        "trino_host": LOOPBACK,
        "trino_port": port,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in (values | local_values | more).items()]
    cloud.client("s3").put_object(Bucket=BUCKET, Key="settings/lk.toml", Body="\n".join(lines).encode())
    file = folder / "lk.toml"
    file.write_text("\n".join(lines), "utf-8")
    return file


def lk(cloud: Cloud, folder: Path, *words: str) -> subprocess.Popen[str]:
    """Runs `lk` as on Airflow's machines: a single file in PATH."""
    shutil.copyfile(emr.__file__, folder / "lk")
    (folder / "lk").chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), cloud.env["PATH"]])
    env = cloud.env | {"PATH": path, "LK_CONFIG": str(folder / "lk.toml")}
    return subprocess.Popen(
        [str(folder / "lk"), *words], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def left(cloud: Cloud) -> list[str]:
    objects = cloud.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="lake/").get("Contents", [])
    return [item["Key"] for item in objects]


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


def test_a_job_gets_the_passwords_from_their_secrets(cloud: Cloud, tmp_path: Path) -> None:
    secrets = {
        "kafka": {"username": "lk", "password": "of-kafka"},
        "trino": {"lk": "of-lk", "reader": "of-reader", "admin": "of-admin"},
    }
    arns = {
        name: cloud.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(secret))["ARN"]
        for name, secret in secrets.items()
    }
    names = ("kafka_password_file", "trino_password_file", "trino_reader_password_file")
    files = {name: tmp_path / "secrets" / name for name in names}
    paths = {name: str(file) for name, file in files.items()}
    of_trino = {"emr_trino_secret": arns["trino"], "trino_reader": "reader"}
    settings_file(cloud, tmp_path, emr_secret=arns["kafka"], trino_tls=True, **of_trino, **paths)
    child = lk(cloud, tmp_path, "views", "--json")
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert [file.read_text("utf-8") for file in files.values()] == ["of-kafka", "of-lk", "of-reader"]
    assert {file.stat().st_mode & 0o777 for file in files.values()} == {0o600}
    [job] = cloud.jobs
    assert not [word for word in job["entryPointArguments"] if "of-" in word]


def test_a_secret_without_a_users_password_is_refused_by_name(cloud: Cloud, tmp_path: Path) -> None:
    secret = cloud.client("secretsmanager").create_secret(Name="half", SecretString=json.dumps({"lk": "of-lk"}))
    files = {name: str(tmp_path / name) for name in ("trino_password_file", "trino_reader_password_file")}
    settings_file(cloud, tmp_path, emr_trino_secret=secret["ARN"], trino_reader="reader", trino_tls=True, **files)
    child = lk(cloud, tmp_path, "views", "--json")
    out, err = child.communicate(timeout=60)
    answer = json.loads(out)
    assert (child.returncode, answer["where"]) == (1, secret["ARN"]), err
    assert "no entry 'reader'" in answer["error"]
    assert not any(Path(name).exists() for name in files.values())


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


def test_what_never_ends_is_started_once_and_left_alone(cloud: Cloud, tmp_path: Path) -> None:
    settings_file(cloud, tmp_path, emr_logs="/lk/name")
    lk(cloud, tmp_path, "views").communicate(timeout=60)  # moto cannot list job runs before the first one
    cloud.runs = False
    aws, application = cloud.client("emr-serverless"), cloud.application
    for _ in range(2):
        child = lk(cloud, tmp_path, "status", "--json-lines", "--every", "60")
        _, err = child.communicate(timeout=60)
        assert (child.returncode, "runs until it is cancelled" in err) == (0, True), err
        jobs = aws.list_job_runs(applicationId=application)["jobRuns"]
        assert [job["name"] for job in jobs] == ["views", "status---json-lines---every-60"]
        # The shim runs a job when its state is requested.
        aws.get_job_run(applicationId=application, jobRunId=jobs[-1]["id"])


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
