"""A lease is judged by its heartbeats: the clock of the holder's host may be a day off."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import TryAgain
from infra.lake import leases
from infra.project_files import ROOT
from infra.settings import Settings

DAY_MS = 86_400_000
LEASE_SECONDS = 6.0
HOLDER = """
import sys, time
from dataclasses import replace
from pathlib import Path
from infra import clock
from infra.lake import leases
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings

elsewhere = replace(ProcessIdentity.current(), host="elsewhere")
ProcessIdentity.current = staticmethod(lambda: elsewhere)
clock.now_ms = lambda: time.time_ns() // 1_000_000 + int(sys.argv[2])
with leases.hold(Settings(data=Path(sys.argv[1]), lease_seconds=float(sys.argv[3])), "control"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder_elsewhere(settings: Settings, off_ms: int) -> Iterator[subprocess.Popen[str]]:
    """A process of another host whose clock is off; it holds the lease until the block ends."""
    words = [sys.executable, "-c", HOLDER, str(settings.data), str(off_ms), str(settings.lease_seconds)]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("off_ms", [-DAY_MS, DAY_MS], ids=["a day behind", "a day ahead"])
def test_the_lease_of_a_host_with_another_clock_is_held_while_it_beats_and_free_after(
    tmp_path: Path, off_ms: int
) -> None:
    settings = Settings(data=tmp_path, lease_seconds=LEASE_SECONDS)
    with holder_elsewhere(settings, off_ms) as process:
        living = leases.living_holder(settings, "control")
        assert (living and living.host) == "elsewhere"
        with pytest.raises(TryAgain, match="the lease control is held"), leases.hold(settings, "control"):
            pytest.fail("two processes hold the lease")
        assert process.poll() is None
    assert leases.living_holder(settings, "control") is None
    with leases.hold(settings, "control") as lease:
        lease.check()
