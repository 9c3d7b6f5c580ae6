"""A command whose optional packages are missing names the command that installs them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.errors import Refused, Usage
from core.identifiers import Name
from infra import emr
from infra.local import airflow_server, local_stack
from infra.settings import Settings
from speed.process import emr_job

EMR = {"emr_application": "a", "emr_role": "r", "emr_settings": "s3://b/lk.toml", "lake": "s3a://b/lake"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", emr_application="a", emr_role="r", emr_settings="s3://b/lk.toml")


def test_airflow_without_its_packages_is_refused_before_anything_starts(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "airflow", None)
    with pytest.raises(Refused) as refused:
        local_stack.start_servers(settings, airflow_server.NAME)
    assert refused.value.what == "the Python package airflow is not installed"
    assert refused.value.where == sys.prefix
    assert refused.value.fix == "make setup EXTRAS=airflow, or: pip install 'lambda-kappa[airflow]'"
    assert not settings.data.exists()


def test_a_job_run_without_the_aws_packages_says_how_to_install_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(emr.Missing, match="the Python package boto3 is not installed"):
        emr.client("emr-serverless", EMR)
    with pytest.raises(Usage) as refused:
        emr_job.start(settings, Name("r1"), ["speed", "run", "r1"])
    assert refused.value.fix == "make setup EXTRAS=aws, or: pip install boto3"


def test_the_lk_of_airflows_machines_says_which_package_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("boto3", "botocore", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, package, None)
    assert emr.main(["views"]) == 2
    assert capsys.readouterr().err == (
        "lk: the Python package boto3 is not installed\n  fix: make setup EXTRAS=aws, or: pip install boto3\n"
    )
