"""Runs terraform in a writable copy of terraform/."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.project_files import ROOT
from tests.support.servers.terraform_availability import plugins

_UNWANTED = shutil.ignore_patterns(".terraform*", "*.tfstate*")


@dataclass(frozen=True, repr=False)
class TerraformRun:
    """The exit code and the output of a finished command."""

    code: int
    text: str

    @property
    def end(self) -> str:
        """The end of the output, for the message of a failed assertion."""
        return self.text[-4000:]


@dataclass(frozen=True)
class Tree:
    """A copy of terraform/ at ``root``, beside a copy of dags/, which terraform uploads."""

    root: Path

    def terraform(self, folder: str, *words: str, seconds: float = 540.0) -> TerraformRun:
        """Runs terraform in a folder of the copy, without AWS or terraform variables of the environment."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TF_VAR_", "TF_LOG"))}
        completed = subprocess.run(
            ["terraform", *words],
            cwd=self.root / folder,
            env=ours | {"TF_IN_AUTOMATION": "1", "AWS_EC2_METADATA_DISABLED": "true", "CHECKPOINT_DISABLE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return TerraformRun(completed.returncode, completed.stdout + completed.stderr)

    def init(self, folder: str) -> None:
        """Runs `terraform init` in a folder. Skips the test if the provider is not available."""
        plugin_folder = plugins()
        mirror = [f"-plugin-dir={plugin_folder}"] if plugin_folder else []
        result = self.terraform(folder, "init", "-backend=false", "-input=false", "-no-color", *mirror)
        if result.code and not plugin_folder:
            reason = result.text.rpartition("Error: ")[2].partition("\n")[0]  # the summary repeats it for each test
            pytest.skip(f"not run: there is no AWS provider here, and `terraform init` could not bring it: {reason}")
        assert result.code == 0, result.end

    def share_init(self, ready: str, folder: str) -> None:
        """Copies the result of `terraform init` to a folder that has no modules of its own."""
        for name in (".terraform", ".terraform.lock.hcl"):
            source, target = self.root / ready / name, self.root / folder / name
            if source.is_dir() and not target.exists():
                shutil.copytree(source, target, symlinks=True)
            elif source.is_file():
                shutil.copy2(source, target)

    def plant(self, file: str, old: str, new: str) -> None:
        """Replaces text in a file of the copy. Fails unless the text occurs exactly once."""
        path = self.root / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{file} holds {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new), "utf-8")


def copied(to: Path) -> Tree:
    """Copies terraform/ and dags/ below this folder."""
    shutil.copytree(ROOT / "terraform", to / "terraform", ignore=_UNWANTED)
    shutil.copytree(ROOT / "dags", to / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    return Tree(to / "terraform")
