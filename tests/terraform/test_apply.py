"""The root applied to an emulator of AWS and destroyed again, offline: all but Airflow, which moto does not know."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import boto3
import pytest

from tests.terraform.here import TERRAFORM, missing_terraform
from tests.terraform.tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

# What moto cannot do, and so is proven by mocks alone (modules/*/tests).
NOT_APPLIED = {
    "aws_mwaa_environment": "moto has no MWAA: `airflow = false` here",
    "aws_s3_bucket_lifecycle_configuration": "the provider waits a minute for moto's: left out where aws_endpoint is set",
    "aws_sns_topic_subscription": "dev has no alarm_emails",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = copied(tmp_path_factory.mktemp("terraform"))
    made.init(".")
    return made


def client(aws: str, service: str) -> Any:
    return boto3.client(
        service, endpoint_url=aws, region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )


@pytest.fixture(scope="module")
def variables(aws: str) -> list[str]:
    """The development instance, with a certificate that the emulator knows."""
    made = client(aws, "acm").request_certificate(DomainName="trino.dev.example.org")
    said = {"aws_endpoint": aws, "airflow": "false", "image_tag": "planned", "certificate_arn": made["CertificateArn"]}
    return ["-var-file=envs/dev.tfvars", *(f"-var={name}={value}" for name, value in said.items())]


@pytest.fixture(scope="module")
def applied(aws: str, tree: Tree, variables: list[str]) -> Tree:
    """Applied from a plan that was kept, to look for secrets in it too."""
    plan = tree.terraform(".", "plan", "-no-color", "-input=false", "-parallelism=4", "-out=kept.tfplan", *variables)
    assert plan.code == 0, plan.text
    done = tree.terraform(".", "apply", "-no-color", "-input=false", "-parallelism=4", "kept.tfplan")
    assert done.code == 0, done.text
    return tree


def kinds(tree: Tree) -> Counter[str]:
    """How many resources of each type the state holds."""
    state = json.loads((tree.root / "terraform.tfstate").read_text("utf-8"))
    managed = [one for one in state["resources"] if one["mode"] == "managed"]
    return Counter(
        {
            kind: sum(len(one["instances"]) for one in managed if one["type"] == kind)
            for kind in {one["type"] for one in managed}
        }
    )


def declared() -> set[str]:
    """Every type of resource that the modules and the root declare."""
    texts = [path.read_text("utf-8") for path in [*TERRAFORM.glob("*.tf"), *TERRAFORM.glob("modules/*/*.tf")]]
    return {line.split('"')[1] for text in texts for line in text.splitlines() if line.startswith('resource "')}


def test_everything_that_moto_can_do_is_applied(applied: Tree) -> None:
    assert declared() - set(kinds(applied)) == set(NOT_APPLIED)
