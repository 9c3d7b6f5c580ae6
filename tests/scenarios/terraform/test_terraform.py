"""Terraform's own checks and tests, offline and with a mocked AWS; and that they catch what is planted."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.scenarios.terraform.availability import TERRAFORM, missing_terraform
from tests.support.terraform_tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

MODULES = ("keys", "network", "lake", "msk", "spark", "trino", "airflow", "observability")
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
        "plain text to buckets",
        "lake",
        "encryption.tf",
        'variable = "aws:SecureTransport"',
        'variable = "aws:ViaAWSService"',
        "every bucket's policy must deny plain text",
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


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy whose modules are ready for tests."""
    made = copied(tmp_path_factory.mktemp("terraform"))
    made.init("modules/keys")
    for module in MODULES[1:]:
        made.share_init("modules/keys", f"modules/{module}")
    return made


def runs(folder: Path) -> int:
    """How many tests the files of a folder declare."""
    return sum(len(re.findall(r'^run "', file.read_text("utf-8"), re.M)) for file in folder.glob("*.tftest.hcl"))


def test_every_module_is_tested() -> None:
    assert sorted(MODULES) == sorted(path.name for path in (TERRAFORM / "modules").iterdir())
    assert [name for name in MODULES if runs(TERRAFORM / "modules" / name / "tests") < 2] == []


def test_the_style_is_terraforms(tree: Tree) -> None:
    said = tree.terraform(".", "fmt", "-check", "-recursive", "-diff")
    assert said.code == 0, said.end


@pytest.mark.parametrize("module", MODULES)
def test_a_module_passes_its_tests(tree: Tree, module: str) -> None:
    said = tree.terraform(f"modules/{module}", "test", "-no-color")
    assert said.code == 0, said.end
    assert f"Success! {runs(TERRAFORM / 'modules' / module / 'tests')} passed, 0 failed." in said.text


def test_the_root_passes_its_tests(tree: Tree) -> None:
    tree.init(".")
    valid = tree.terraform(".", "validate", "-no-color")
    assert valid.code == 0, valid.end
    said = tree.terraform(".", "test", "-no-color")
    assert said.code == 0, said.end
    assert f"Success! {runs(TERRAFORM / 'tests')} passed, 0 failed." in said.text


@pytest.mark.parametrize("example", ["minimal", "complete"])
def test_an_example_is_valid(tree: Tree, example: str) -> None:
    tree.init(f"examples/{example}")
    said = tree.terraform(f"examples/{example}", "validate", "-no-color")
    assert said.code == 0, said.end


@pytest.mark.parametrize("module", sorted({module for _, module, *_ in PLANTED}))
def test_every_planted_violation_is_named(tree: Tree, tmp_path: Path, module: str) -> None:
    """Only the module is copied, as its tests are all that is run; what is planted there is told of one by one."""
    folder = f"modules/{module}"
    planted = Tree(tmp_path)
    for name in (folder, "testing"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(tree.root / name, tmp_path / name, symlinks=True)
    mine = [one for one in PLANTED if one[1] == module]
    for _, _, file, old, new, _ in mine:
        planted.plant(f"{folder}/{file}", old, new)
    said = planted.terraform(folder, "test", "-no-color")
    assert said.code == 1, said.end
    assert [what for what, _, _, _, _, told in mine if not re.search(told, said.text)] == []
