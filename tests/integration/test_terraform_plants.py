"""The tests of terraform/ modules report planted violations. scenarios/terraform covers all of terraform/."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support.servers.terraform_availability import missing_terraform
from tests.support.servers.terraform_tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

PLANTED = (
    (
        "a bucket may be public",
        "lake",
        "main.tf",
        "block_public_policy     = true",
        "block_public_policy     = false",
        "no bucket may be public in any way",
    ),
    (
        "a trail of any account",
        "lake",
        "trail.tf",
        'variable = "aws:SourceArn"',
        'variable = "aws:PrincipalTag/any"',
        "only this trail may write there",
    ),
    (
        "plain text to buckets",
        "lake",
        "encryption.tf",
        'variable = "aws:SecureTransport"',
        'variable = "aws:ViaAWSService"',
        "every bucket's policy must deny plain text",
    ),
    (
        "a copy that is not locked",
        "lake",
        "lock.tf",
        "      days = var.archive_lock_days",
        "      days = 1",
        "each object of the copy must be locked for these days",
    ),
    (
        "copies of everything",
        "lake",
        "lock.tf",
        "    filter {\n      prefix = local.archive\n    }",
        '    filter {\n      prefix = "lake/"\n    }',
        "what is copied is the archive",
    ),
    (
        "a copy that its owner may unlock",
        "lake",
        "encryption.tf",
        'actions   = ["s3:BypassGovernanceRetention", "s3:DeleteObjectVersion"]',
        'actions   = ["s3:BypassGovernanceRetention"]',
        "nobody may delete versions of the copy",
    ),
    (
        "jobs reach the copy",
        "lake",
        "outputs.tf",
        'use => bucket.arn if use != "archive"',
        "use => bucket.arn",
        "the copy must not be among the buckets that jobs",
    ),
    (
        "two brokers are enough",
        "msk",
        "variables.tf",
        "var.brokers >= 3",
        "var.brokers >= 2",
        r'run "bad_variables"\.\.\. fail',
    ),
    (
        "a plain listener",
        "msk",
        "main.tf",
        'client_broker = "TLS"',
        'client_broker = "TLS_PLAINTEXT"',
        "TLS in transit",
    ),
    (
        "a password in the state",
        "msk",
        "password.tf",
        "  secret_string_wo = jsonencode({\n    username = var.user\n    password = var.password\n  })\n"
        "  secret_string_wo_version = var.password_version",
        '  secret_string = jsonencode({ username = var.user, password = "planted" })',
        "the password must not be in the state",
    ),
    (
        "brokers open to everybody",
        "network",
        "who_talks_to_whom.tf",
        "  referenced_security_group_id = aws_security_group.this[each.value.from].id\n",
        '  cidr_ipv4                    = "0.0.0.0/0"\n',
        "only a security group is let in",
    ),
    (
        "any bucket",
        "network",
        "main.tf",
        "resources = local.objects",
        'resources = ["arn:aws:s3:::*"]',
        "no other bucket may be reached",
    ),
    (
        "a secret for every account",
        "msk",
        "password.tf",
        'variable = "aws:SourceAccount"',
        'variable = "aws:PrincipalTag/any"',
        "only a cluster of this account reads the secret",
    ),
    (
        "the internet as a client",
        "network",
        "variables.tf",
        'tonumber(split("/", range)[1]) >= 8',
        'tonumber(split("/", range)[1]) >= 0',
        r'run "the_internet_is_no_client"\.\.\. fail',
    ),
    (
        "a star in a role",
        "spark",
        "role.tf",
        'actions   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListMultipartUploadParts", '
        '"s3:PutObject"]',
        'actions   = ["s3:*"]',
        "every action and every resource is named",
    ),
)


MODULES = sorted({module for _, module, *_ in PLANTED})


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy with initialized modules."""
    copy = copied(tmp_path_factory.mktemp("terraform"))
    copy.init("modules/keys")
    for module in MODULES:
        copy.share_init("modules/keys", f"modules/{module}")
    return copy


@pytest.mark.parametrize("module", MODULES)
def test_every_planted_violation_is_named(tree: Tree, tmp_path: Path, module: str) -> None:
    """Plants all violations of a module in a copy. Every violation must have its own message."""
    folder = f"modules/{module}"
    planted = Tree(tmp_path)
    for name in (folder, "testing"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(tree.root / name, tmp_path / name, symlinks=True)
    violations = [violation for violation in PLANTED if violation[1] == module]
    for _, _, file, old, new, _ in violations:
        planted.plant(f"{folder}/{file}", old, new)
    result = planted.terraform(folder, "test", "-no-color")
    assert result.code == 1, result.end
    assert [what for what, _, _, _, _, message in violations if not re.search(message, result.text)] == []
