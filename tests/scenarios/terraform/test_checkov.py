"""Checkov over terraform/, offline: nothing fails, each skip has its reason, and what is planted is named."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.terraform_availability import CLOUD, TERRAFORM, missing_checkov
from tests.support.terraform_tree import copied

PLANTED = {  # check: where, what is there, what is planted, and in which resource it is named
    "CKV_AWS_81": ("modules/msk/main.tf", '"TLS"', '"TLS_PLAINTEXT"', "aws_msk_cluster.this"),
    "CKV_AWS_54": (
        "modules/lake/main.tf",
        "block_public_policy     = true",
        "block_public_policy     = false",
        "aws_s3_bucket_public_access_block.this",
    ),
    "CKV_AWS_356": (
        "modules/trino/roles.tf",
        "resources = [var.lake_bucket_arn]",
        'resources = ["*"]',
        "aws_iam_policy_document.trino",
    ),
    "CKV_AWS_7": (
        "modules/keys/main.tf",
        "enable_key_rotation     = true",
        "enable_key_rotation = false",
        "aws_kms_key.this",
    ),
    "CKV_AWS_2": ("modules/trino/balancer.tf", '"HTTPS"', '"HTTP"', "aws_lb_listener.tls"),
}

checkov_is_here = pytest.mark.skipif(missing_checkov() is not None, reason=f"not run: {missing_checkov()}")


def checked(folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code, and what checkov says."""
    done = subprocess.run(
        [
            *(CLOUD / "python", CLOUD / "checkov", "-d", folder, "--framework", "terraform"),
            *("--skip-download", "--quiet", "--compact", "-o", "json"),
        ],
        env={**os.environ, "LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def names(said: dict[str, Any], kind: str) -> set[tuple[str, str]]:
    """(check, resource without its module and key) of all that ``kind`` checks found."""
    found = said["results"][kind]
    return {
        (one["check_id"], re.sub(r"\[.*?\]$", "", re.sub(r"^(module\.\w+\.)+", "", one["resource"]))) for one in found
    }


@checkov_is_here
def test_nothing_fails() -> None:
    code, said = checked(TERRAFORM)
    assert names(said, "failed_checks") == set()
    assert code == 0
    assert said["summary"]["passed"] > 300
    assert said["summary"]["parsing_errors"] == 0


@checkov_is_here
def test_planted_violations_are_named(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    for file, old, new, _ in PLANTED.values():
        tree.plant(file, old, new)
    code, said = checked(tree.root)
    assert code == 1
    assert names(said, "failed_checks") >= {(check, resource) for check, (_, _, _, resource) in PLANTED.items()}


def test_every_skip_has_a_reason() -> None:
    skips = [
        (path.name, line.strip())
        for path in sorted(TERRAFORM.rglob("*.tf"))
        for line in path.read_text("utf-8").splitlines()
        if "checkov:skip" in line
    ]
    assert len(skips) > 5
    assert [one for one in skips if not re.fullmatch(r"#checkov:skip=CKV2?_AWS_\d+:.{8,}", one[1])] == []


def test_every_star_of_a_policy_has_a_reason_beside_it() -> None:
    stars = [
        f"{path.parent.name}/{path.name}: {line.strip()}"
        for path in sorted(TERRAFORM.rglob("*.tf"))
        if "tests" not in path.parts
        for line in path.read_text("utf-8").splitlines()
        if re.search(r'^\s*((actions|resources|identifiers|type)\s*=|\[for .*"arn:).*\*', line)
    ]
    assert len(stars) > 20
    assert [line for line in stars if not re.search(r"[\]\"],? +# \w", line)] == []
