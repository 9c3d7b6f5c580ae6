"""Checkov over terraform/, offline: no check fails, each skip has a reason, and planted violations are named."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.terraform_availability import CLOUD, TERRAFORM, missing_checkov
from tests.support.servers.terraform_tree import copied

PLANTED = {  # check: file, old text, planted text, resource in the report
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


def run_checkov(folder: Path) -> tuple[int, dict[str, Any]]:
    """Runs checkov. Returns its exit code and its JSON report."""
    process = subprocess.run(
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
    return process.returncode, json.loads(process.stdout)


def checked_resources(report: dict[str, Any], kind: str) -> set[tuple[str, str]]:
    """(check, resource without module and key) of each result of this kind, e.g. ``failed_checks``."""
    results = report["results"][kind]
    return {
        (result["check_id"], re.sub(r"\[.*?\]$", "", re.sub(r"^(module\.\w+\.)+", "", result["resource"])))
        for result in results
    }


@checkov_is_here
def test_no_check_fails() -> None:
    code, report = run_checkov(TERRAFORM)
    assert checked_resources(report, "failed_checks") == set()
    assert code == 0
    assert report["summary"]["passed"] > 300
    assert report["summary"]["parsing_errors"] == 0


@checkov_is_here
def test_planted_violations_are_named(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    for file, old, new, _ in PLANTED.values():
        tree.plant(file, old, new)
    code, report = run_checkov(tree.root)
    assert code == 1
    assert checked_resources(report, "failed_checks") >= {
        (check, resource) for check, (_, _, _, resource) in PLANTED.items()
    }


def test_every_skip_has_a_reason() -> None:
    skips = [
        (path.name, line.strip())
        for path in sorted(TERRAFORM.rglob("*.tf"))
        for line in path.read_text("utf-8").splitlines()
        if "checkov:skip" in line
    ]
    assert len(skips) > 5
    assert [skip for skip in skips if not re.fullmatch(r"#checkov:skip=CKV2?_AWS_\d+:.{8,}", skip[1])] == []


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
