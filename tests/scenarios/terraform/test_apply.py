"""Applies the root module to moto, an AWS emulator, and destroys it again, offline. Moto has no managed Airflow."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import Any

import boto3
import pytest

from tests.support.servers.terraform_availability import TERRAFORM, missing_terraform
from tests.support.servers.terraform_tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

# Moto does not support these. Only the mocks test them (modules/*/tests).
NOT_APPLIED = {
    "aws_mwaa_environment": "moto has no MWAA: `airflow = false` here",
    "aws_s3_bucket_lifecycle_configuration": "moto's takes a minute: left out where aws_endpoint is set",
    "aws_sns_topic_subscription": "dev has no alarm_emails",
    "terraform_data": "dev may be destroyed; the test of refused plans applies it",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    copy = copied(tmp_path_factory.mktemp("terraform"))
    copy.init(".")
    return copy


def client(aws: str, service: str) -> Any:
    return boto3.client(
        service, endpoint_url=aws, region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )


@pytest.fixture(scope="module")
def variables(aws: str) -> list[str]:
    """The variables of the development instance, with a certificate of the emulator and a copy of the archive."""
    certificate = client(aws, "acm").request_certificate(DomainName="trino.dev.example.org")
    # Moto does not know the newest release of EMR.
    values = {
        "aws_endpoint": aws,
        "airflow": "false",
        "image_tag": "planned",
        "emr_release": "emr-7.2.0",
        "certificate_arn": certificate["CertificateArn"],
        "archive_lock_days": "1",
    }
    return ["-var-file=envs/dev.tfvars", *(f"-var={name}={value}" for name, value in values.items())]


@pytest.fixture(scope="module")
def applied(aws: str, tree: Tree, variables: list[str]) -> Tree:
    """The applied tree. It keeps the plan file, so that a test can search it for secrets."""
    plan = tree.terraform(".", "plan", "-no-color", "-input=false", "-out=kept.tfplan", *variables)
    assert plan.code == 0, plan.end
    apply = tree.terraform(".", "apply", "-no-color", "-input=false", "kept.tfplan")
    assert apply.code == 0, apply.end
    return tree


def state(tree: Tree) -> list[dict[str, Any]]:
    """The managed resources in the state of terraform."""
    resources = json.loads((tree.root / "terraform.tfstate").read_text("utf-8"))["resources"]
    return [resource for resource in resources if resource["mode"] == "managed"]


def declared() -> set[str]:
    """Every type of resource that the modules and the root declare."""
    files = [path.read_text("utf-8") for path in [*TERRAFORM.glob("*.tf"), *TERRAFORM.glob("modules/*/*.tf")]]
    return {line.split('"')[1] for file in files for line in file.splitlines() if line.startswith('resource "')}


def test_everything_that_moto_can_do_is_applied(applied: Tree) -> None:
    counted: Counter[str] = Counter()
    for resource in state(applied):
        counted[resource["type"]] += len(resource["instances"])
    assert declared() - set(counted) == set(NOT_APPLIED)
    expected_counts = {
        "aws_kms_key": 6,
        "aws_s3_bucket": 4,
        "aws_subnet": 3,
        "aws_msk_cluster": 1,
        "aws_cloudtrail": 1,
        "aws_ecs_service": 2,
    }
    assert {kind: counted[kind] for kind in expected_counts} == expected_counts


def test_no_password_is_in_the_state_or_in_the_plan(aws: str, applied: Tree) -> None:
    ids = ("AmazonMSK_lk-dev_lk", "lk-dev/trino-shared", "lk-dev/trino-users", "lk-dev/trino-passwords")
    kafka, trino, users, hashes = (
        client(aws, "secretsmanager").get_secret_value(SecretId=secret_id)["SecretString"] for secret_id in ids
    )
    password = json.loads(kafka)["password"]
    assert (len(password), len(trino)) == (40, 64)
    of_users = json.loads(users)
    assert of_users.keys() == {"lk", "reader", "engineer", "admin"}
    assert {len(text) for text in of_users.values()} == {40}
    lines = dict(line.split(":") for line in hashes.splitlines())
    assert lines.keys() == of_users.keys()
    assert all(re.fullmatch(r"\$2y\$10\$[./A-Za-z0-9]{53}", line) for line in lines.values()), "what Trino reads"
    plan = applied.terraform(".", "show", "-json", "kept.tfplan")
    assert plan.code == 0, plan.end
    plan_and_state = plan.text + (applied.root / "terraform.tfstate").read_text("utf-8")
    assert "AmazonMSK_lk-dev_lk" in plan_and_state
    secrets = (password, trino, *of_users.values(), *lines.values())
    assert [secret for secret in secrets if secret in plan_and_state] == []


def test_the_settings_file_is_at_the_uri_that_jobs_read(aws: str, applied: Tree) -> None:
    output = applied.terraform(".", "output", "-json")
    text = output.text[output.text.index("{") : output.text.rindex("}") + 1]
    outputs = {name: entry["value"] for name, entry in json.loads(text).items()}
    bucket, key = outputs["settings_uri"].removeprefix("s3://").split("/", 1)
    settings_text = client(aws, "s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
    assert settings_text == outputs["settings"]
    settings = tomllib.loads(settings_text)
    assert settings["bootstrap"] == "b-1.emulated:9096,b-2.emulated:9096,b-3.emulated:9096"
    assert settings["lake"] == "s3a://lk-dev-123456789012-lake/lake"
    assert settings["emr_application"] == outputs["emr_application"]
    files = ["kafka_password_file", "trino_password_file", "trino_reader_password_file"]
    assert [name for name in settings if "password" in name] == files


def test_the_copy_of_the_archive_is_locked_and_the_archive_is_copied(aws: str, applied: Tree) -> None:
    s3, copy = client(aws, "s3"), "lk-dev-123456789012-archive"
    locked = s3.get_object_lock_configuration(Bucket=copy)["ObjectLockConfiguration"]
    retention = locked["Rule"]["DefaultRetention"]
    assert (locked["ObjectLockEnabled"], retention["Mode"], retention["Days"]) == ("Enabled", "GOVERNANCE", 1)
    # Moto forgets the prefix; modules/lake/tests has it.
    rules = s3.get_bucket_replication(Bucket="lk-dev-123456789012-lake")["ReplicationConfiguration"]["Rules"]
    assert [rule["Destination"]["Bucket"] for rule in rules] == [f"arn:aws:s3:::{copy}"]


def test_a_plan_that_destroys_or_replaces_the_log_is_refused(applied: Tree, variables: list[str]) -> None:
    kept, cluster = "module.msk.terraform_data.kept", "module.msk.aws_msk_cluster.this"
    production = [*variables, "-var=destroy_with_data=false"]
    protect = applied.terraform(
        ".", "apply", "-auto-approve", "-no-color", "-input=false", f"-target={kept}", *production
    )
    assert protect.code == 0, protect.end
    unwanted = (
        ("destroy", "-auto-approve", *production),
        ("apply", "-auto-approve", f"-replace={cluster}", *production),
        ("apply", "-auto-approve", *variables),
    )
    for words in unwanted:
        refused = applied.terraform(".", *words, "-no-color", "-input=false")
        assert (refused.code, "Instance cannot be destroyed" in refused.text) == (1, True), refused.end
    assert cluster in applied.terraform(".", "state", "list").text
    forget = applied.terraform(".", "state", "rm", f"{kept}[0]")
    assert forget.code == 0, forget.end


def test_destroy_leaves_nothing(aws: str, applied: Tree, variables: list[str]) -> None:
    """The last test of this file."""
    destroy = applied.terraform(".", "destroy", "-auto-approve", "-no-color", "-input=false", *variables)
    assert destroy.code == 0, destroy.end
    assert state(applied) == []
    assert client(aws, "s3").list_buckets()["Buckets"] == []
    assert client(aws, "kafka").list_clusters_v2()["ClusterInfoList"] == []
