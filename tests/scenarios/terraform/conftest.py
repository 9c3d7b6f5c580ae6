"""An emulator of AWS on loopback."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from urllib.error import URLError

import pytest
import tenacity

from infra.local.ports import free_ports
from infra.project_files import ROOT
from infra.settings import LOOPBACK


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of moto's server, with what it lacks."""
    port = free_ports(1)[0]
    log = tmp_path_factory.mktemp("moto") / "log"
    with log.open("w") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.aws_emulator", "-H", LOOPBACK, "-p", str(port)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        url = f"http://{LOOPBACK}:{port}"
        try:
            _answers(url, child)
            yield url
        finally:
            child.terminate()
            child.wait(20)


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(URLError),
    wait=tenacity.wait_fixed(0.2),
    stop=tenacity.stop_after_delay(60),
    reraise=True,
)
def _answers(url: str, child: subprocess.Popen[bytes]) -> None:
    assert child.poll() is None, "moto ended"
    with urllib.request.urlopen(f"{url}/moto-api/", timeout=5):
        pass
