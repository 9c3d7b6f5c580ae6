"""Resource usage of a process and its descendants is measured while they run, and kept after they end."""

from __future__ import annotations

import subprocess
import sys

from infra.local.resource_usage import ResourceUsage, UsageMonitor, usage_of
from infra.retry import retry_on

# Burns CPU in a child, prints a line, and ends when its input ends. The OS counts hundredths of a second, rounded down.
_BURN = "import time\nwhile time.process_time() < 0.4: pass"
_PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {_BURN!r}])
print("burnt", flush=True)
sys.stdin.read()
"""


def test_cpu_of_descendants_counts_also_after_they_have_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watch = UsageMonitor(child.pid)
    assert child.stdout
    assert child.stdout.readline() == b"burnt\n"
    assert 0.3 <= usage_of(child.pid).cpu < 30

    def cpu_is_counted() -> None:
        assert watch.last.cpu >= 0.3

    retry_on(AssertionError, cpu_is_counted, 10, every=0.02)
    child.communicate()
    assert usage_of(child.pid) == ResourceUsage()
    assert watch.last.cpu >= 0.3


def test_usage_since_an_earlier_measurement() -> None:
    assert ResourceUsage(3.0, 100).since(ResourceUsage(1.0, 40)) == ResourceUsage(2.0, 60)
