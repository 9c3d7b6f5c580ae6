"""The project as a wheel, in a fresh environment whose other packages are the locked ones of the tests."""

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
    """The Python of an environment with the wheel, its site-packages, and the empty folder in which it is run."""

    python: Path
    packages: Path
    folder: Path

    def lk(self, *words: str, seconds: float = 300.0) -> Done:
        """Runs the installed ``lk WORDS`` to its end."""
        done = subprocess.run(
            [self.python.with_name("lk"), *words],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Done(" ".join(words), done.returncode, done.stdout, done.stderr)


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
    # A folder that a .pth file names is searched, but its own .pth files, of which one names the clone, are not read.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "venv" / "lib" / version / "site-packages"
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    (folder / "empty").mkdir()
    return Installed(python, packages, folder / "empty")
