"""An emulator of AWS on loopback."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from urllib.error import URLError

import pytest

from infra.local.ports import free_ports
from infra.project_files import ROOT
from infra.retry import retry_on
from infra.settings import LOOPBACK


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of moto's server with our additions (tests/support/servers/aws_emulator.py)."""
    port = free_ports(1)[0]
    log = tmp_path_factory.mktemp("moto") / "log"
    with log.open("w") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.servers.aws_emulator", "-H", LOOPBACK, "-p", str(port)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        url = f"http://{LOOPBACK}:{port}"
        try:
            retry_on(URLError, partial(_answers, url, child), 60, every=0.2)
            yield url
        finally:
            child.terminate()
            child.wait(20)


def _answers(url: str, child: subprocess.Popen[bytes]) -> None:
    assert child.poll() is None, "moto ended"
    with urllib.request.urlopen(f"{url}/moto-api/", timeout=5):
        pass
