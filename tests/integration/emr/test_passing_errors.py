"""Errors of AWS that pass, such as throttling: a started job run is waited for, and no exit code says refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.response import StreamingBody
from botocore.stub import Stubber

from core.errors import TryAgain
from core.identifiers import Name
from infra import emr
from infra.lake import leases, table_paths
from infra.settings import Settings
from speed.process import emr_job

JOB, APPLICATION, ROLE = "00job", "00application", "arn:aws:iam::123456789012:role/jobs"
VALUES = {"emr_application": APPLICATION, "emr_role": ROLE, "emr_settings": "s3://b/lk.toml", "lake": "s3a://b/lake"}
ARN = f"arn:aws:emr-serverless:eu-central-1:123456789012:/applications/{APPLICATION}/jobruns/{JOB}"
THROTTLED = ("ThrottlingException", 400)
PASSING = [THROTTLED, ("TooManyRequestsException", 429), ("InternalServerException", 500), ("SlowDown", 503)]
LASTING = [("AccessDeniedException", 403), ("ValidationException", 400)]


class StubbedAws:
    """Clients of AWS that give prepared answers, in order, and send nothing."""

    def __init__(self) -> None:
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "eu-central-1"}
        self.clients: dict[str, Any] = {name: boto3.client(name, **keys) for name in ("emr-serverless", "s3")}
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        for stub in self.stubs.values():
            stub.activate()

    def starts(self) -> None:
        started = {"applicationId": APPLICATION, "jobRunId": JOB, "arn": ARN}
        self.stubs["emr-serverless"].add_response("start_job_run", started)

    def shows(self, state: str) -> None:
        now = datetime(2026, 11, 29, tzinfo=UTC)
        texts = ("arn", "createdBy", "executionRole", "stateDetails", "releaseLabel")
        job_run = dict.fromkeys(texts, "a text of sixty and more characters, as an ARN has: 0123456789")
        ids = {"applicationId": APPLICATION, "jobRunId": JOB, "state": state}
        times = {"createdAt": now, "updatedAt": now, "jobDriver": {"sparkSubmit": {"entryPoint": "x"}}}
        self.stubs["emr-serverless"].add_response("get_job_run", {"jobRun": job_run | ids | times})

    def cancels(self) -> None:
        self.stubs["emr-serverless"].add_response("cancel_job_run", {"applicationId": APPLICATION, "jobRunId": JOB})

    def gives(self, exit_code: int) -> None:
        body = json.dumps({"exit": exit_code, "out": "rows\n"}).encode()
        self.stubs["s3"].add_response("get_object", {"Body": StreamingBody(io.BytesIO(body), len(body))})

    def deletes(self) -> None:
        self.stubs["s3"].add_response("delete_object", {})

    def refuses(self, service: str, request: str, code: str, status: int) -> None:
        self.stubs[service].add_client_error(request, code, "not now", status)

    def assert_no_answer_is_left(self) -> None:
        for stub in self.stubs.values():
            stub.assert_no_pending_responses()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StubbedAws]:
    stubbed = StubbedAws()
    monkeypatch.setattr(emr, "client", lambda service, _: stubbed.clients[service])
    monkeypatch.setattr(emr, "LOOK", 0.0)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    settings = tmp_path / "lk.toml"
    settings.write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in VALUES.items()), "utf-8")
    monkeypatch.setenv("LK_CONFIG", str(settings))
    yield stubbed
    stubbed.assert_no_answer_is_left()


@pytest.mark.parametrize(("code", "status"), PASSING)
def test_a_started_job_run_is_waited_for(
    aws: StubbedAws, capsys: pytest.CaptureFixture[str], code: str, status: int
) -> None:
    aws.starts()
    aws.refuses("emr-serverless", "get_job_run", code, status)
    aws.shows("RUNNING")
    aws.refuses("emr-serverless", "get_job_run", code, status)
    aws.shows("SUCCESS")
    aws.refuses("s3", "get_object", code, status)
    aws.gives(0)
    aws.refuses("s3", "delete_object", code, status)
    aws.deletes()
    assert emr.main(["build"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count(f"({code})")) == ("rows\n", 4)


@pytest.mark.parametrize(("code", "status"), PASSING)
def test_a_job_run_that_is_not_started_is_to_be_tried_again(aws: StubbedAws, code: str, status: int) -> None:
    aws.refuses("emr-serverless", "start_job_run", code, status)
    assert emr.main(["build"]) == 75


@pytest.mark.parametrize(("code", "status"), LASTING)
def test_what_will_fail_again_is_refused_and_its_job_run_cancelled(aws: StubbedAws, code: str, status: int) -> None:
    aws.refuses("emr-serverless", "start_job_run", code, status)
    assert emr.main(["build"]) == 1
    aws.starts()
    aws.refuses("emr-serverless", "get_job_run", code, status)
    aws.cancels()
    assert emr.main(["build"]) == 1


def test_without_an_answer_for_long_the_job_run_is_cancelled_and_to_be_tried_again(
    aws: StubbedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emr, "PATIENCE", 0.0)
    aws.starts()
    aws.refuses("emr-serverless", "get_job_run", *THROTTLED)
    aws.cancels()
    assert emr.main(["build"]) == 75


def test_an_interrupt_cancels_although_aws_is_busy(
    aws: StubbedAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(emr, "state", interrupted)
    aws.starts()
    aws.refuses("emr-serverless", "cancel_job_run", *THROTTLED)
    aws.cancels()
    assert emr.main(["build"]) == 130
    assert f"job run {JOB} is being cancelled" in capsys.readouterr().err
    aws.starts()
    aws.refuses("emr-serverless", "cancel_job_run", *LASTING[0])
    assert emr.main(["build"]) == 130
    assert f"job run {JOB} was not cancelled" in capsys.readouterr().err


def test_no_connection_passes_too() -> None:
    assert emr.is_passing(EndpointConnectionError(endpoint_url="https://emr"))
    assert not emr.is_passing(ClientError({"Error": {"Code": "AccessDenied", "Message": ""}}, "GetJobRun"))
    assert not emr.is_passing(ValueError("a bug"))


RUN = Name("r000001")


def test_the_start_of_a_run_waits_for_aws(aws: StubbedAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[str, Any] = {"emr_application": APPLICATION, "emr_role": ROLE, "emr_settings": "s3://b/lk.toml"}
    settings = Settings(data=tmp_path, lake=str(tmp_path / "lake"), **ids)
    table_paths.open_lake(settings)
    monkeypatch.setattr(emr_job, "_POLL_SECONDS", 0.0)
    aws.stubs["emr-serverless"].add_response("list_job_runs", {"jobRuns": []})
    aws.starts()
    aws.refuses("emr-serverless", "get_job_run", *THROTTLED)
    aws.shows("RUNNING")
    with leases.hold(settings, f"run_{RUN}"):
        emr_job.start(settings, RUN, ("speed", "run", RUN))
    aws.refuses("emr-serverless", "list_job_runs", *THROTTLED)
    with pytest.raises(TryAgain, match="not now"):
        emr_job.start(settings, RUN, ("speed", "run", RUN))
