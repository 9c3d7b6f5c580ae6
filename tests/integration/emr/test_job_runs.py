"""A run whose process is an EMR Serverless job run: its start, its detection by lease, its cancellation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.errors import Refused, Usage
from core.identifiers import Name
from infra import emr
from infra.lake import leases, table_paths
from infra.settings import Settings
from speed.process import background, emr_job
from tests.integration.emr.conftest import BUCKET, ROLE, Cloud

RUN = Name("r000001")
OTHER = Name("r000002")
WORDS = ("speed", "run", RUN)


@pytest.fixture
def settings(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in cloud.env.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    emr_settings: dict[str, Any] = {"emr_application": cloud.application, "emr_role": ROLE, "emr_logs": "/lk/dev"}
    job_settings = Settings(
        data=tmp_path, lake=str(tmp_path / "lake"), emr_settings=f"s3://{BUCKET}/settings/lk.toml", **emr_settings
    )
    table_paths.open_lake(job_settings)
    # moto cannot list job runs before the first one.
    emr.start(job_settings.model_dump(mode="json"), ["speed", "run", OTHER])
    cloud.runs = False
    return job_settings


def states(cloud: Cloud) -> list[str]:
    job_runs = cloud.client("emr-serverless").list_job_runs(applicationId=cloud.application)["jobRuns"]
    return [job["state"] for job in job_runs if job["name"] == "-".join(WORDS)]


def test_it_is_started_once_and_cancelled(settings: Settings, cloud: Cloud) -> None:
    cloud.job_state = "RUNNING"
    with leases.hold(settings, f"run_{RUN}"):
        emr_job.start(settings, RUN, WORDS)
        emr_job.start(settings, RUN, WORDS)  # finds the first job run by its name
        assert states(cloud) == ["RUNNING"]
        assert background.start(settings, RUN, *WORDS) is True  # detected by its lease
    [job] = cloud.jobs
    assert job["entryPointArguments"] == ["--settings", f"s3://{BUCKET}/settings/lk.toml", *WORDS]
    background.stop(settings, RUN)
    assert states(cloud) == ["CANCELLED"]


def test_one_that_ends_before_it_runs_is_refused_with_what_emr_says(settings: Settings, cloud: Cloud) -> None:
    cloud.job_state = "FAILED"
    with pytest.raises(Refused, match="its job run ended as failed"):
        emr_job.start(settings, RUN, WORDS)


def test_settings_that_name_no_role_are_told(settings: Settings) -> None:
    with pytest.raises(Usage, match="emr_role"):
        emr_job.start(settings.model_copy(update={"emr_role": ""}), RUN, WORDS)
