"""Ends a run: deletes its tables and its checkpoint. Its id is never used again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from core.errors import Refused
from core.identifiers import Name, joined
from infra.control import locks, runs
from infra.control.publications import last_done, open_intent
from infra.control.run_endings import RunEnding, add_ending, read_endings
from infra.control.run_roles import pinned_runs, rollback_target
from infra.kafka import kafka_admin
from infra.lake import files, leases, table_paths
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino import metastore

_SWITCH = "run `lk switch lambda` or `lk switch kappa` first; a view of processing time stays with its run"


def end_run(
    settings: Settings, run: Name, how: Literal["abandoned", "retired"], *, why: str, final: bool = False
) -> RunEnding:
    """Records the end of a run, then deletes its tables, Trino's entries, checkpoint, consumer group and lease.

    Raises Refused while a process drives the run, or while a served view, an open intent or (unless ``final``) the
    target of a rollback names it. Safe to repeat after a crash.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        _refuse_named(settings, run, final=final)
        ending = read_endings(settings).get(run)
        if ending is None:
            ending = RunEnding(run, how, datetime.now(UTC), current_user(), why)
            add_ending(settings, lease, ending)
        _delete(settings, declared)
    return ending


def _refuse_named(settings: Settings, run: Name, *, final: bool) -> None:
    intent, rollback = open_intent(settings), rollback_target(settings)
    last = last_done(settings)
    served_views = sorted(view for view, pin in last.pins.items() if pin.run == run) if last else []
    holder = leases.living_holder(settings, f"run_{run}")
    reasons = [
        (bool(served_views), f"views serve it: {', '.join(served_views)}", _SWITCH),
        (
            run in pinned_runs(intent),
            "an open publication names it",
            "run `lk up`, which finishes or reverts it",
        ),
        (
            run in pinned_runs(rollback) and not final,
            f"`lk rollback` would serve it (publication {rollback.seq if rollback else 0})",
            f"run `lk retire {run} --final` to give up that rollback",
        ),
        (holder is not None, f"it is driven by {holder}", "stop that process on its host, then retire the run again"),
    ]
    for applies, reason, fix in reasons:
        if applies:
            raise Refused(f"run {run} cannot be ended: {reason}", where="control.publications", fix=fix)


def _delete(settings: Settings, run: runs.Run) -> None:
    """Each step is safe to repeat. A table is unregistered before its files are deleted."""
    registered = metastore.tables(settings, "speed")
    for view in run.views:
        if ("speed", joined(view, run.id)) in registered:
            metastore.unregister(settings, "speed", joined(view, run.id))
    files.remove(table_paths.run(settings, run.id))
    files.remove(table_paths.checkpoint(settings, run.id))
    kafka_admin.delete_group(settings, run.id)
    leases.forget(settings, f"run_{run.id}")
