"""Runs terraform's own checks and tests, offline and with a mocked AWS."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.servers.terraform_availability import TERRAFORM, missing_terraform
from tests.support.servers.terraform_tree import Tree, copied

pytestmark = pytest.mark.skipif(missing_terraform() is not None, reason=f"not run: {missing_terraform()}")

MODULES = ("keys", "network", "lake", "msk", "spark", "trino", "airflow", "observability")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of terraform/ with its modules initialised."""
    copy = copied(tmp_path_factory.mktemp("terraform"))
    copy.init("modules/keys")
    for module in MODULES[1:]:
        copy.share_init("modules/keys", f"modules/{module}")
    return copy


def declared_tests(folder: Path) -> int:
    """The number of tests that the files of a folder declare."""
    return sum(len(re.findall(r'^run "', file.read_text("utf-8"), re.M)) for file in folder.glob("*.tftest.hcl"))


def test_every_module_is_tested() -> None:
    assert sorted(MODULES) == sorted(path.name for path in (TERRAFORM / "modules").iterdir())
    assert [name for name in MODULES if declared_tests(TERRAFORM / "modules" / name / "tests") < 2] == []


def test_terraform_fmt_changes_nothing(tree: Tree) -> None:
    fmt = tree.terraform(".", "fmt", "-check", "-recursive", "-diff")
    assert fmt.code == 0, fmt.end


@pytest.mark.parametrize("module", MODULES)
def test_a_module_passes_its_tests(tree: Tree, module: str) -> None:
    result = tree.terraform(f"modules/{module}", "test", "-no-color")
    assert result.code == 0, result.end
    assert f"Success! {declared_tests(TERRAFORM / 'modules' / module / 'tests')} passed, 0 failed." in result.text


def test_the_root_passes_its_tests(tree: Tree) -> None:
    tree.init(".")
    validation = tree.terraform(".", "validate", "-no-color")
    assert validation.code == 0, validation.end
    result = tree.terraform(".", "test", "-no-color")
    assert result.code == 0, result.end
    assert f"Success! {declared_tests(TERRAFORM / 'tests')} passed, 0 failed." in result.text


@pytest.mark.parametrize("example", ["minimal", "complete"])
def test_an_example_is_valid(tree: Tree, example: str) -> None:
    tree.init(f"examples/{example}")
    result = tree.terraform(f"examples/{example}", "validate", "-no-color")
    assert result.code == 0, result.end
