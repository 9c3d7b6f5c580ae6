"""Terraform's own checks and tests, offline and with a mocked AWS."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.terraform_availability import TERRAFORM, missing_terraform
from tests.support.terraform_tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

MODULES = ("keys", "network", "lake", "msk", "spark", "trino", "airflow", "observability")


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
