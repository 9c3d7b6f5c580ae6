"""Trino's image: `start` writes the configuration and execs Trino. The jobs' image: `lk` is valid shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infra.project_files import ROOT

TRINO = ROOT / "images" / "trino"
NEEDED = {
    "COORDINATOR": "coordinator.lk.internal",
    "AWS_REGION": "eu-central-1",
    "LK_WAREHOUSE": "s3://lk-lake/lake",
    "SHARED_SECRET": "do-not-write-me",
    "PASSWORDS": "lk:$2y$10$hash-of-lk\nreader:$2y$10$hash-of-reader",
}


def start(folder: Path, *role: str, **env: str) -> subprocess.CompletedProcess[str]:
    launch = folder / "run-trino"
    launch.write_text('#!/bin/sh\necho "running as $$ in $(cat "$ETC/config.properties" | head -1)"\n', "utf-8")
    launch.chmod(0o755)
    places = {"ETC": str(folder / "etc"), "HERE": str(TRINO), "LAUNCH": str(launch), "PATH": "/usr/bin:/bin"}
    return subprocess.run([str(TRINO / "start"), *role], env=places | env, capture_output=True, text=True)


def properties(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines())


def test_a_coordinator_computes_nothing_and_reads_the_secret_itself(tmp_path: Path) -> None:
    completed = start(tmp_path, "coordinator", **NEEDED)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("running as ")
    assert properties(tmp_path / "etc" / "config.properties") == {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "false",
        "http-server.process-forwarded": "true",
        "http-server.authentication.type": "PASSWORD",
        "password-authenticator.config-files": f"{tmp_path}/etc/password-authenticator.properties",
        "access-control.config-files": f"{tmp_path}/etc/access-control.properties",
        "query.max-execution-time": "1h",
        "spill-enabled": "true",
        "spill-encryption-enabled": "true",
        "query-max-spill-per-node": "10GB",
        "max-spill-per-node": "20GB",
        "spiller-spill-path": "/data/trino/spill",
        "http-server.http.port": "8080",
        "discovery.uri": "http://coordinator.lk.internal:8080",
        "internal-communication.shared-secret": "${ENV:SHARED_SECRET}",
        "catalog.config-dir": f"{tmp_path}/etc/catalog",
    }
    assert properties(tmp_path / "etc" / "catalog" / "lake.properties") == {
        "connector.name": "delta_lake",
        "hive.metastore": "glue",
        "hive.metastore.glue.region": "${ENV:AWS_REGION}",
        "hive.metastore.glue.default-warehouse-dir": "${ENV:LK_WAREHOUSE}",
        "fs.native-s3.enabled": "true",
        "s3.region": "${ENV:AWS_REGION}",
        "delta.register-table-procedure.enabled": "true",
        "delta.metadata.cache-ttl": "0s",
    }
    assert properties(tmp_path / "etc" / "access-control.properties") == {
        "access-control.name": "file",
        "security.config-file": f"{tmp_path}/etc/rules.json",
    }
    assert properties(tmp_path / "etc" / "password-authenticator.properties") == {
        "password-authenticator.name": "file",
        "file.password-file": f"{tmp_path}/etc/passwords",
    }
    passwords = tmp_path / "etc" / "passwords"
    assert passwords.read_text("utf-8") == f"{NEEDED['PASSWORDS']}\n"
    assert passwords.stat().st_mode & 0o777 == 0o600
    assert properties(tmp_path / "etc" / "resource-groups.properties") == {
        "resource-groups.configuration-manager": "file",
        "resource-groups.config-file": f"{tmp_path}/etc/resource-groups.json",
    }
    for name in ("rules.json", "resource-groups.json"):
        assert (tmp_path / "etc" / name).read_text("utf-8") == (TRINO / name).read_text("utf-8")
    assert (tmp_path / "etc" / "jvm.config").read_text("utf-8").splitlines()[:2] == [
        "-server",
        "-XX:MaxRAMPercentage=75",
    ]
    contents = "".join(file.read_text("utf-8") for file in (tmp_path / "etc").rglob("*") if file.is_file())
    assert "do-not-write-me" not in contents


def test_a_worker_finds_the_coordinator(tmp_path: Path) -> None:
    assert start(tmp_path, "worker", **NEEDED).returncode == 0
    config = properties(tmp_path / "etc" / "config.properties")
    assert (config["coordinator"], config["discovery.uri"]) == ("false", "http://coordinator.lk.internal:8080")
    assert not {"node-scheduler.include-coordinator", "access-control.config-files"} & config.keys()
    assert not (tmp_path / "etc" / "passwords").exists()


def test_catalogs_of_the_base_image_are_gone(tmp_path: Path) -> None:
    (tmp_path / "etc" / "catalog").mkdir(parents=True)
    (tmp_path / "etc" / "catalog" / "tpch.properties").write_text("connector.name=tpch\n", "utf-8")
    start(tmp_path, "worker", **NEEDED)
    assert [file.name for file in (tmp_path / "etc" / "catalog").iterdir()] == ["lake.properties"]


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_not_told_is_named(name: str, tmp_path: Path) -> None:
    completed = start(tmp_path, "coordinator", **{key: value for key, value in NEEDED.items() if key != name})
    assert (completed.returncode, name in completed.stderr) == (2, True), completed.stderr
    assert start(tmp_path, "boss", **NEEDED).returncode == 2


def test_the_jobs_lk_puts_the_images_spark_in_its_path() -> None:
    text = (ROOT / "images" / "jobs" / "lk").read_text("utf-8")
    completed = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
