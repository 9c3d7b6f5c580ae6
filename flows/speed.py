"""Starting and stopping a run, together with what is served of it."""

from __future__ import annotations

from core.catalog import Catalog
from core.cut import Cut
from infra import runs
from infra.local import process
from infra.settings import Settings
from serving import repair
from serving.takeover import serve_run
from speed import control
from speed.control import State


def start(settings: Settings, catalog: Catalog, *, new: bool = False) -> State:
    """Starts the last run again, or with ``new`` one from the published cut (from 0 if there is none); serves it.

    Another run goes on serving until the new one has reached it in every partition, and is stopped then.
    """
    fresh = new or not runs.runs(settings)
    state = control.start(settings, catalog, new=fresh, cut=published_cut(settings) if fresh else Cut())
    assert state.run is not None
    serve_run(settings, catalog, state.run, "lk speed start --new" if new else "lk speed start")
    for other in runs.runs(settings):
        if other.id != state.run and process.alive(settings, control.name(other.id)):
            control.stop(settings, other.id)
    return state


def stop(settings: Settings) -> State:
    """Stops every run that is going, each between two epochs."""
    for run in runs.runs(settings)[:-1]:
        if process.alive(settings, control.name(run.id)):
            control.stop(settings, run.id)
    return control.stop(settings)


def published_cut(settings: Settings) -> Cut:
    """The cut of the build that is served; nothing (offset 0 everywhere) when none is."""
    last = repair.last_done(settings)
    pins = [pin for pin in last.pins.values() if pin.build] if last else []
    return max(pins, key=lambda pin: str(pin.build)).cut if pins else Cut()
