"""Installs the project's wheel in a fresh environment that uses the tests' locked packages."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from infra.project_files import ROOT
from tests.support.command import Done, environment


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel: its Python, its site-packages, and an empty working folder."""

    python: Path
    packages: Path
    folder: Path

    def lk(self, *words: str, seconds: float = 300.0) -> Done:
        """Runs the installed ``lk WORDS`` to its end."""
        completed = subprocess.run(
            [self.python.with_name("lk"), *words],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Done(" ".join(words), completed.returncode, completed.stdout, completed.stderr)


def installed(folder: Path) -> Installed:
    """Builds the wheel without network and installs it below ``folder``."""
    hatchling = Path(sys.executable).with_name("hatchling")
    subprocess.run([hatchling, "build", "-t", "wheel", "-d", folder], cwd=ROOT, capture_output=True, check=True)
    [wheel] = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    uv = ROOT / ".tools" / "bin" / "uv"
    options = ("--quiet", "--offline", "--no-deps", "--python", python)
    subprocess.run([uv, "pip", "install", *options, wheel], check=True)
    # Python does not read the .pth files of a folder that a .pth file adds, so the editable clone stays hidden.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "venv" / "lib" / version / "site-packages"
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    (folder / "empty").mkdir()
    return Installed(python, packages, folder / "empty")
