"""The root applied to an emulator of AWS and destroyed again, offline: all but Airflow, which moto does not know."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from typing import Any

import boto3
import pytest

from tests.support.terraform_availability import TERRAFORM, missing_terraform
from tests.support.terraform_tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

# What moto cannot do, and so is proven by mocks alone (modules/*/tests).
NOT_APPLIED = {
    "aws_mwaa_environment": "moto has no MWAA: `airflow = false` here",
    "aws_s3_bucket_lifecycle_configuration": "moto's takes a minute: left out where aws_endpoint is set",
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
    # Moto does not know the newest release of EMR.
    said = {
        "aws_endpoint": aws,
        "airflow": "false",
        "image_tag": "planned",
        "emr_release": "emr-7.2.0",
        "certificate_arn": made["CertificateArn"],
    }
    return ["-var-file=envs/dev.tfvars", *(f"-var={name}={value}" for name, value in said.items())]


@pytest.fixture(scope="module")
def applied(aws: str, tree: Tree, variables: list[str]) -> Tree:
    """Applied from a plan that was kept, to look for secrets in it too."""
    plan = tree.terraform(".", "plan", "-no-color", "-input=false", "-out=kept.tfplan", *variables)
    assert plan.code == 0, plan.end
    done = tree.terraform(".", "apply", "-no-color", "-input=false", "kept.tfplan")
    assert done.code == 0, done.end
    return tree


def state(tree: Tree) -> list[dict[str, Any]]:
    """The resources of the state that terraform made."""
    every = json.loads((tree.root / "terraform.tfstate").read_text("utf-8"))["resources"]
    return [one for one in every if one["mode"] == "managed"]


def declared() -> set[str]:
    """Every type of resource that the modules and the root declare."""
    texts = [path.read_text("utf-8") for path in [*TERRAFORM.glob("*.tf"), *TERRAFORM.glob("modules/*/*.tf")]]
    return {line.split('"')[1] for text in texts for line in text.splitlines() if line.startswith('resource "')}


def test_everything_that_moto_can_do_is_applied(applied: Tree) -> None:
    counted: Counter[str] = Counter()
    for one in state(applied):
        counted[one["type"]] += len(one["instances"])
    assert declared() - set(counted) == set(NOT_APPLIED)
    some = {"aws_kms_key": 6, "aws_s3_bucket": 3, "aws_subnet": 3, "aws_msk_cluster": 1, "aws_ecs_service": 2}
    assert {kind: counted[kind] for kind in some} == some


def test_no_password_is_in_the_state_or_in_the_plan(aws: str, applied: Tree) -> None:
    ids = ("AmazonMSK_lk-dev_lk", "lk-dev/trino-shared")
    kafka, trino = (client(aws, "secretsmanager").get_secret_value(SecretId=one)["SecretString"] for one in ids)
    password = json.loads(kafka)["password"]
    assert (len(password), len(trino)) == (40, 64)
    plan = applied.terraform(".", "show", "-json", "kept.tfplan")
    assert plan.code == 0, plan.end
    told = plan.text + (applied.root / "terraform.tfstate").read_text("utf-8")
    assert "AmazonMSK_lk-dev_lk" in told
    assert [secret for secret in (password, trino) if secret in told] == []


def test_the_settings_file_lies_where_jobs_take_it_from(aws: str, applied: Tree) -> None:
    said = applied.terraform(".", "output", "-json")
    text = said.text[said.text.index("{") : said.text.rindex("}") + 1]
    told = {name: one["value"] for name, one in json.loads(text).items()}
    bucket, key = told["settings_uri"].removeprefix("s3://").split("/", 1)
    lies = client(aws, "s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
    assert lies == told["settings"]
    settings = tomllib.loads(lies)
    assert settings["bootstrap"] == "b-1.emulated:9096,b-2.emulated:9096,b-3.emulated:9096"
    assert settings["lake"] == "s3a://lk-dev-123456789012-lake/lake"
    assert settings["emr_application"] == told["emr_application"]
    assert [name for name in settings if "password" in name] == ["kafka_password_file"]


def test_destroy_leaves_nothing(aws: str, applied: Tree, variables: list[str]) -> None:
    """The last of this file."""
    done = applied.terraform(".", "destroy", "-auto-approve", "-no-color", "-input=false", *variables)
    assert done.code == 0, done.end
    assert state(applied) == []
    assert client(aws, "s3").list_buckets()["Buckets"] == []
    assert client(aws, "kafka").list_clusters_v2()["ClusterInfoList"] == []
