#!/usr/bin/env python3
"""Runs verbs as job runs of EMR Serverless. Copied under the name `lk`, this file is the `lk` of Airflow's machines.

So it imports nothing of this project, only boto3. The job writes the verb's output and exit code to an object in the
lake; `run` prints that output and returns that code.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
import tomllib
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
REFUSED, USAGE, TRY_AGAIN, INTERRUPTED = 1, 2, 75, 130
ENTRY = "local:///opt/lk/lk_verb.py"
PYTHON = "/opt/lk/venv/bin/python"
NEEDED = ("emr_application", "emr_role", "emr_settings", "lake")
LOOK = 5.0  # seconds between two polls of a job run
PATIENCE = 900.0  # seconds for which AWS may give no answer about a job run that was started
_CANCELLING = 15.0  # the same for its end: a task of Airflow kills this process after 20 seconds
_PASSING = frozenset(
    {"RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "RequestTimeout", "SlowDown"}
    | {"ThrottledException", "Throttling", "ThrottlingException", "TooManyRequestsException"}
)
_ACTIVE = ("SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "QUEUED")
_ENDLESS = "--every"
ENDED = ("SUCCESS", "FAILED", "CANCELLED")
# On Airflow's machines this project is not installed, only this file: there, pip installs the package itself.
_NO_BOTO3 = ("the Python package boto3 is not installed", "make setup EXTRAS=aws, or: pip install boto3")
_PYTHON_CONF = (
    "emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON",
    "emr-serverless.driverEnv.PYSPARK_PYTHON",
    "executorEnv.PYSPARK_PYTHON",
)


class Missing(Exception):
    """A setting or a package that a job run needs is missing; ``fix`` says what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


def is_passing(error: Exception) -> bool:
    """Whether AWS gave no answer, or refused only for now: too many requests, or a fault of its own."""
    from botocore.exceptions import BotoCoreError, ClientError

    if not isinstance(error, ClientError):
        return isinstance(error, BotoCoreError)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error.response["Error"]["Code"] in _PASSING or status == 429 or status >= 500


def client(service: str, values: Mapping[str, Any]) -> Any:
    """A client of AWS in the region of the settings. Raises Missing."""
    try:
        import boto3
    except ImportError:
        raise Missing(*_NO_BOTO3) from None
    return boto3.client(service, region_name=values.get("s3_region"))


def start(values: Mapping[str, Any], words: Sequence[str], *, result: str = "", stays: bool = False) -> str:
    """Starts `lk WORDS` as a job run and returns its id; ``stays`` is for verbs that run until they are cancelled.

    ``values`` is the content of the settings file. Raises Missing.
    """
    absent = [name for name in NEEDED if not values.get(name)]
    if absent:
        raise Missing(f"these settings are missing: {', '.join(absent)}", "write them into the settings file")
    names = {"--secret": "emr_secret", "--trino-secret": "emr_trino_secret"}
    secrets = [word for option, name in names.items() if values.get(name) for word in (option, values[name])]
    kept = ["--result", result] if result else []
    conf = [f"--conf spark.{name}={PYTHON}" for name in _PYTHON_CONF]
    logs = {"enabled": True, "logGroupName": f"{values.get('emr_logs')}/{'status' if words[0] == 'status' else 'jobs'}"}
    watched = {"monitoringConfiguration": {"cloudWatchLoggingConfiguration": logs}} if values.get("emr_logs") else {}
    mode = {"mode": "STREAMING", "retryPolicy": {"maxFailedAttemptsPerHour": 5}} if stays else {}
    response = client("emr-serverless", values).start_job_run(
        applicationId=values["emr_application"],
        executionRoleArn=values["emr_role"],
        clientToken=str(uuid.uuid4()),
        name=_name(words),
        jobDriver={
            "sparkSubmit": {
                "entryPoint": values.get("emr_entry") or ENTRY,
                "entryPointArguments": ["--settings", values["emr_settings"], *secrets, *kept, *words],
                "sparkSubmitParameters": " ".join([*conf, values.get("emr_submit") or ""]).strip(),
            }
        },
        configurationOverrides=watched,
        **mode,
    )
    return str(response["jobRunId"])


def state(values: Mapping[str, Any], job: str) -> tuple[str, str]:
    """The state of a job run, and EMR's details about it."""
    emr = client("emr-serverless", values)
    job_run = emr.get_job_run(applicationId=values["emr_application"], jobRunId=job)["jobRun"]
    return str(job_run["state"]), str(job_run.get("stateDetails") or "")


def find(values: Mapping[str, Any], words: Sequence[str]) -> str | None:
    """The newest active job run of `lk WORDS`."""
    pages = client("emr-serverless", values).get_paginator("list_job_runs")
    active = pages.paginate(applicationId=values["emr_application"], states=list(_ACTIVE)).build_full_result()[
        "jobRuns"
    ]
    same = [job for job in active if job.get("name") == _name(words)]
    return str(max(same, key=lambda job: job["createdAt"])["id"]) if same else None


def cancel(values: Mapping[str, Any], job: str) -> None:
    """Cancels a job run."""
    client("emr-serverless", values).cancel_job_run(applicationId=values["emr_application"], jobRunId=job)


def run(values: Mapping[str, Any], words: Sequence[str], say: Callable[[str], None]) -> int:
    """Runs a verb as a job run, prints its output and returns its exit code.

    An interrupt and an error of AWS that does not pass are raised, after the job run was cancelled. A verb that runs
    until it is cancelled is started, unless it is active already, and not waited for.
    """
    if _ENDLESS in words:
        job = find(values, words) or start(values, words, stays=True)
        say(f"job run {job} runs until it is cancelled")
        return 0
    lake = str(values.get("lake", "")).replace("s3a:", "s3:", 1).rstrip("/")
    result = f"{lake}/_results/{uuid.uuid4()}.json"
    job = start(values, words, result=result)
    try:
        end_state, details = _wait_for_end(values, job, say)
    except BaseException:
        _cancel_patiently(values, job, say)
        raise
    output = _take_result(values, result, say)
    if output is None:
        say(f"job run {job} ended as {end_state} before its verb did: {details}")
        return TRY_AGAIN
    sys.stdout.write(output["out"])
    return int(output["exit"])


def _printable(text: str) -> str:
    """Text of AWS, with what could control a terminal as an escape."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _name(words: Sequence[str]) -> str:
    return re.sub(r"[^A-Za-z0-9._/#-]", "-", "-".join(words))[:256]


def _wait_for_end(values: Mapping[str, Any], job: str, say: Callable[[str], None]) -> tuple[str, str]:
    last = ""
    while True:
        current, details = _patiently(partial(state, values, job), say)
        if current != last:
            say(f"job run {job}: {current.lower()}")
            last = current
        if current in ENDED:
            return current, details
        time.sleep(LOOK)


def _cancel_patiently(values: Mapping[str, Any], job: str, say: Callable[[str], None]) -> None:
    """Cancels a job run that nobody waits for any more; says so if AWS does not let it."""
    try:
        _patiently(partial(cancel, values, job), say, _CANCELLING)
    except Exception as e:
        say(f"job run {job} was not cancelled: {e}")
    else:
        say(f"job run {job} is being cancelled")


def _patiently(request: Callable[[], T], say: Callable[[str], None], seconds: float | None = None) -> T:
    """The answer to a request about a started job run, which is repeated while AWS refuses it only for now.

    After ``seconds``, PATIENCE by default, the last error passes through.
    """
    deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
    while True:
        try:
            return request()
        except Exception as e:
            if not is_passing(e) or time.monotonic() >= deadline:
                raise
            say(f"AWS does not answer, next try in {LOOK:.0f} seconds: {e}")
        time.sleep(LOOK)


def _take_result(values: Mapping[str, Any], address: str, say: Callable[[str], None]) -> Any:
    """Reads and deletes the result of a job; None when it wrote none."""
    bucket, key = address.removeprefix("s3://").split("/", 1)
    s3 = client("s3", values)
    try:
        result = _patiently(lambda: json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read()), say)
    except s3.exceptions.NoSuchKey:
        return None
    _patiently(partial(s3.delete_object, Bucket=bucket, Key=key), say)
    return result


def main(words: Sequence[str]) -> int:
    """Runs `lk WORDS` with the settings file that LK_CONFIG names, else ./lk.toml."""

    def say(text: str) -> None:
        print(f"lk: {_printable(text)}", file=sys.stderr, flush=True)

    try:
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        say("\n  fix: ".join(_NO_BOTO3))
        return USAGE
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        values = tomllib.loads(Path(os.environ.get("LK_CONFIG") or "lk.toml").read_text("utf-8"))
        return run(values, words, say)
    except Missing as e:
        say(f"{e}\n  fix: {e.fix}")
        return USAGE
    except (OSError, tomllib.TOMLDecodeError) as e:
        say(f"{e}\n  fix: set LK_CONFIG to the settings file that terraform wrote")
        return USAGE
    except (BotoCoreError, ClientError) as e:
        passing = is_passing(e)
        say(f"AWS {'does not answer' if passing else 'refused the request'}: {e}")
        return TRY_AGAIN if passing else REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
