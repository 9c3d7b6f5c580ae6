"""A lease is held, free, abandoned by a process that has ended without releasing it, or forgotten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import TryAgain
from infra.lake import leases
from infra.lake.lease_states import lease_states
from infra.project_files import ROOT
from infra.settings import Settings

KILLED = """
import os, signal, sys
from pathlib import Path
from infra.lake import leases
from infra.settings import Settings

with leases.hold(Settings(data=Path(sys.argv[1])), "routes"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lease_is_held_then_free_and_a_killed_holder_leaves_it_abandoned(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert lease_states(settings) == ()
    with leases.hold(settings, "control"), leases.hold(settings, "batch"):
        assert {state.name: state.state for state in lease_states(settings)} == {"batch": "held", "control": "held"}
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    states = {str(state.name): state for state in lease_states(settings)}
    assert {name: state.state for name, state in states.items()} == {
        "batch": "free",
        "control": "free",
        "routes": "abandoned",
    }
    assert states["routes"].holder.is_dead


def test_a_lease_that_nobody_takes_any_more_is_forgotten_and_its_generation_is_not(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    leases.forget(settings, "routes")
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    with leases.hold(settings, "control"):
        leases.forget(settings, "routes")
        assert [state.name for state in lease_states(settings)] == ["control"]
        with pytest.raises(TryAgain, match="the lease control is held"):
            leases.forget(settings, "control")
    leases.forget(settings, "routes")
    with leases.hold(settings, "routes") as lease:
        assert lease.generation == 3  # of the killed process, of the one that forgot it, and of this one
