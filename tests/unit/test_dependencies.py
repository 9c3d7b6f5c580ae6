"""Every imported package is declared, and all lock files agree with the largest one."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from infra.project_files import ROOT

PACKAGES = ("cli", "core", "infra", "batch", "speed", "serving", "flows", "views")
LOCKS = ("requirements.lock", "requirements-airflow.lock", "requirements-aws.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# A declared package pins each: pyspark, pydantic, boto3, apache-airflow, openlineage-python, fastapi.
TRANSITIVE = {"py4j", "pydantic_core", "botocore", "airflow", "attr", "starlette"}


def names(requirements: list[str]) -> set[str]:
    """The normalized distribution names of requirements."""
    return {normalized(re.split(r"[\[=<>~ ]", text, maxsplit=1)[0]) for text in requirements}


def normalized(name: str) -> str:
    """A distribution name as lock files spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def imported() -> set[str]:
    """Every third-party module that our code imports."""
    trees = [ast.parse(path.read_text("utf-8")) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return (
        {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - set(PACKAGES) - {"_typeshed"}
    )


def test_what_the_code_imports_is_declared() -> None:
    declared = names([*PROJECT["dependencies"], *EXTRAS["airflow"], *EXTRAS["aws"]])
    owners = packages_distributions()
    assert len(imported()) >= 15
    assert [
        name for name in imported() - TRANSITIVE if not declared & {normalized(owner) for owner in owners[name]}
    ] == []


def pins(lock: str) -> set[str]:
    """The lines ``name==version`` of a lock file."""
    return set(re.findall(r"^([a-z0-9][\w.-]*==[\w.]+)", (ROOT / lock).read_text("utf-8"), re.M))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock_has_the_versions_of_the_largest_lock(lock: str) -> None:
    assert len(pins(lock)) > 50
    assert pins(lock) <= pins("requirements-dev.lock")


def test_the_runtime_lock_has_no_airflow_no_aws_client_and_no_test_tool() -> None:
    run = {pin.partition("==")[0] for pin in pins("requirements.lock")}
    assert (
        run & {"apache-airflow", "apache-airflow-core", "boto3", "botocore", "moto", "mypy", "pytest", "ruff"} == set()
    )


@pytest.mark.parametrize(
    "lock", [*LOCKS, "requirements-dev.lock", "requirements-emr.lock", "images/jobs/requirements.lock"]
)
def test_no_lock_names_a_registry(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text("utf-8")
