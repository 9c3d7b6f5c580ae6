"""A lease is held, free, or abandoned by a process that has ended without releasing it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
