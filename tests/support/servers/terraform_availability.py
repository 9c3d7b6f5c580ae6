"""Checks for terraform, its provider and checkov.

`python -m tests.support.servers.terraform_availability` prints the result.

The provider may be in $TF_PLUGIN_DIR, in terraform's plugin folders or below /opt. Otherwise `terraform init` downloads
it from the configured mirror or registry.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from infra.project_files import ROOT

TERRAFORM = ROOT / "terraform"
CLOUD = ROOT / ".venv-cloud" / "bin"  # made by the Makefile where terraform is
PROVIDER = "registry.terraform.io/hashicorp/aws"


def version() -> str:
    """The pinned version of the provider."""
    match = re.search(r'version = "([0-9.]+)"', (TERRAFORM / "versions.tf").read_text("utf-8"))
    assert match
    return match[1]


def plugins() -> Path | None:
    """The first provider folder that has the pinned version, or None."""
    configured = [Path(os.environ["TF_PLUGIN_DIR"])] if os.environ.get("TF_PLUGIN_DIR") else []
    usual = [
        Path.home() / ".terraform.d/plugins",
        *(Path(root) / "terraform/plugins" for root in ("/usr/local/share", "/usr/share")),
        *sorted(folder.parent for folder in Path("/opt").glob("*/registry.terraform.io")),
    ]
    return next((folder for folder in (*configured, *usual) if (folder / PROVIDER / version()).is_dir()), None)


def missing_terraform() -> str | None:
    """Why tests that need terraform cannot run, or None. Does not check the provider."""
    return None if shutil.which("terraform") else "terraform was not found in PATH: install 1.11 or newer"


def missing_checkov() -> str | None:
    """Why tests that need checkov cannot run, or None."""
    installed = (CLOUD / "checkov").exists()
    return None if installed else "checkov was not set up: `make cloud` does it where terraform is installed"


if __name__ == "__main__":
    if reason := missing_terraform():
        print(f"NOT RUN: tests/scenarios/terraform ({reason})")
    elif reason := missing_checkov():
        print(f"NOT RUN: tests/scenarios/terraform/test_checkov.py ({reason})")
    elif plugins() is None:
        print(f"tests/scenarios/terraform: {PROVIDER} {version()} is in no folder; needs `terraform init`")
