"""Starting and stopping runs, together with what is served from them."""

from __future__ import annotations

from dataclasses import replace

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import changed_definitions
from flows import catching_up
from flows.serving_lineage import serving_change
from infra.control import run_roles, runs
from infra.control.publications import has_served, last_done
from infra.control.runs import Run
from infra.settings import Settings
from serving.promote import serve_run
from serving.publish import changed_since, in_kappa
from speed.process import background, lifecycle
from speed.process.lifecycle import RunState
from speed.quarantine import share

_SWITCHES = ("kappa", "lambda", "rollback")  # publications that leave the run before them warm


def start(settings: Settings, catalog: Catalog, *, new: bool = False) -> RunState:
    """Resumes and serves the current run, or with ``new`` a run from the published cut (from 0 if there is none).

    If the definition of a served view changed, the new run starts from the cut of a full build, and Lambda serves. The
    run before it serves until the new run has reached it in every partition, and is then stopped. A repeated call goes
    on with the new run while that still reads. A run that a switch left warm is started too. Raises Refused if the
    current run has other definitions than there are now.
    """
    current = run_roles.current_run(settings)
    if new or current is None:
        return _start_new(settings, catalog)
    lifecycle.require_declared_definitions(catalog, runs.read_run(settings, current))
    state = _with_warnings(settings, catalog, lifecycle.start(settings, current))
    _serve(settings, catalog, current, "lk speed start")
    for run in [*_other_serving_runs(settings, catalog, current), *_warm_runs(settings, catalog)]:
        lifecycle.start(settings, run)
    return state


def status(settings: Settings, catalog: Catalog) -> RunState:
    """The state of the current run, with a warning for each topic of which too many records are in quarantine."""
    return _with_warnings(settings, catalog, lifecycle.status(settings))


def stop(settings: Settings) -> RunState:
    """Stops every run that has a process, each between two epochs."""
    current = run_roles.current_run(settings)
    for run in runs.read_runs(settings):
        if run.id != current and background.alive(settings, run.id):
            background.stop(settings, run.id)
    return lifecycle.stop(settings)


def published_cut(settings: Settings) -> Cut:
    """The cut of the served build; offset 0 everywhere if no build is served."""
    last = last_done(settings)
    pins = [pin for pin in last.pins.values() if pin.build] if last else []
    return max(pins, key=lambda pin: str(pin.build)).cut if pins else Cut()


def _start_new(settings: Settings, catalog: Catalog) -> RunState:
    _refuse_in_kappa(settings, catalog)
    run = _waiting_run(settings, catalog) or lifecycle.declare(settings, catalog, _start_cut(settings, catalog))
    state = lifecycle.start(settings, run.id)
    catching_up.wait_until_read(settings, run)
    _serve(settings, catalog, run.id, "lk speed start --new")
    for other, role in run_roles.roles(settings).items():
        if role in ("warm", "idle") and background.alive(settings, other):
            background.stop(settings, other)
    return state


def _refuse_in_kappa(settings: Settings, catalog: Catalog) -> None:
    last = last_done(settings)
    if last and in_kappa(last, catalog) and not changed_since(last, catalog):
        raise Refused(
            "Kappa serves: a new run there is a replay",
            where=f"publication {last.seq}",
            fix="`lk replay start`, then `lk switch kappa`; or `lk switch lambda` first",
        )


def _waiting_run(settings: Settings, catalog: Catalog) -> Run | None:
    """The last run that reads the log by today's definitions and never served: an earlier call ended before it could.

    Another one would begin at the same cut and be further behind.
    """
    roles = run_roles.roles(settings)
    waiting = [
        run
        for run in runs.read_runs(settings)
        if (roles[run.id], run.kind) == ("idle", "live")
        and run.views.keys() == catalog.views.keys()
        and not changed_definitions(catalog, run.views, run.decoders)
        and background.alive(settings, run.id)
        and not has_served(settings, run.id)
    ]
    return waiting[-1] if waiting else None


def _serve(settings: Settings, catalog: Catalog, run: Name, why: str) -> None:
    """Serves a run; its lineage is that of a publication."""
    serving_change(
        settings, catalog, "publish", run, lambda: serve_run(settings, catalog, run, why), lambda published: published
    )


def _with_warnings(settings: Settings, catalog: Catalog, state: RunState) -> RunState:
    shares = share.of_run(settings, catalog, state.run) if state.run else ()
    return replace(state, warnings=tuple(too_many.line for too_many in shares))


def _start_cut(settings: Settings, catalog: Catalog) -> Cut:
    """The published cut; if a served view's definition changed, the cut of a build with today's definitions."""
    if changed_since(last_done(settings), catalog):
        from flows.batch_cycle import current_build  # imports Spark, which no other start needs

        return current_build(settings, catalog).cut
    return published_cut(settings)


def _other_serving_runs(settings: Settings, catalog: Catalog, current: Name) -> list[Name]:
    """The other runs that serve views: a switch does not move every view to the new run."""
    serving = run_roles.serving_runs(settings) - {current}
    others = [run for run in runs.read_runs(settings) if run.id in serving]
    return [run.id for run in others if not changed_definitions(catalog, run.views, run.decoders)]


def _warm_runs(settings: Settings, catalog: Catalog) -> list[Name]:
    """The runs that a switch left warm and that have today's definitions."""
    last = last_done(settings)
    if last is None or last.kind not in _SWITCHES:
        return []
    roles = run_roles.roles(settings)
    warm = [run for run in runs.read_runs(settings) if roles[run.id] == "warm"]
    return [run.id for run in warm if not changed_definitions(catalog, run.views, run.decoders)]
