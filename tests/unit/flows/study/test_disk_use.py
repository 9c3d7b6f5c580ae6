"""The study's peak of memory counts the verb that it waits for, with all its processes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

import pytest

from flows.measure import load, run_verb
from flows.measure.fresh_instance import FreshInstance
from flows.measure.measured_verb import measured_verb, running_pids
from flows.study import disk_use
from flows.study.disk_use import peaks
from infra.retry import wait_until
from infra.settings import Settings

HELD = 400 * 2**20
# A verb starts a JVM as its child; so the memory is held one process further down.
VERB = f"""
import subprocess, sys
holder = "import sys; text = b'x' * {HELD}; open(sys.argv[1]).read()"
subprocess.run([sys.executable, "-c", holder, sys.argv[1]], check=True)
print("{{}}")
"""


def test_the_peak_around_a_verb_has_the_memory_of_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, release = Settings(data=tmp_path / "data"), tmp_path / "release"
    os.mkfifo(release)
    monkeypatch.setattr(disk_use, "_EVERY", 0.05)
    monkeypatch.setattr(run_verb, "arguments", lambda *_: [sys.executable, "-c", VERB, str(release)])

    def let_it_end(_: threading.Event) -> None:
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: highest.memory >= HELD, 10, every=0.02, error=TimeoutError)
        release.write_text("")  # a pipe: it waits for its reader, which has waited for this

    with peaks(settings) as highest, load.in_background(let_it_end):
        assert measured_verb(FreshInstance(tmp_path, tmp_path / "lk.toml", settings), "switch").output == {}
    assert HELD <= highest.memory < 2 * HELD
    assert running_pids() == ()
