"""The state of a run's process, as the process writes it: a JSON file with its phase, its pid and its epoch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.identifiers import Name
from infra.settings import Settings


def state_path(settings: Settings, run: Name) -> Path:
    """The file of a run's state."""
    return settings.run_dir / "speed" / f"{Name(run)}.json"


def write_state(settings: Settings, run: Name, phase: str, **more: object) -> None:
    """Replaces the state; phases are starting, running, stopped and failed."""
    path = state_path(settings, run)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"phase": phase, "pid": os.getpid(), **more}), "utf-8")
    part.replace(path)


def read_state(settings: Settings, run: Name) -> Mapping[str, Any]:
    """The state as last written; empty before the first start."""
    try:
        state: dict[str, Any] = json.loads(state_path(settings, run).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return state


def phase_of(state: Mapping[str, Any], *, alive: bool, remote: bool) -> str:
    """The phase of a run: ``died`` when its process is gone and did not say so.

    A process on another machine writes no state here, and runs as long as it holds the run's lease.
    """
    phase = "running" if remote else str(state.get("phase", "stopped"))
    return phase if alive or phase in ("failed", "stopped") else "died"
