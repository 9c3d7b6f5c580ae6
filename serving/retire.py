"""Ends a run: its tables and its checkpoint go, its id stays used."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from core.errors import Refused
from core.identifiers import Name, joined
from infra.control import locks, runs
from infra.control.run_endings import RunEnding, add_ending, read_endings
from infra.control.run_roles import runs_of, target
from infra.kafka import kafka_admin
from infra.lake import files, leases, table_paths
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino import metastore
from serving import recover

_SWITCH = "switch first: `lk switch lambda`, `lk switch kappa`; a view of processing time stays with its run"


def end(
    settings: Settings, run: Name, how: Literal["abandoned", "retired"], *, why: str, final: bool = False
) -> RunEnding:
    """Records the end of a run, then frees what it held: tables, Trino's entries, checkpoint, consumer group.

    Raises Refused while a served view, an open intent or, unless ``final``, the target of a rollback names it, or while
    a process drives it. An ended run is freed again where a crash left something.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        _refuse_named(settings, run, final=final)
        known = read_endings(settings).get(run)
        if known is None:
            known = RunEnding(run, how, datetime.now(UTC), current_user(), why)
            add_ending(settings, lease, known)
        _free(settings, declared)
    return known


def _refuse_named(settings: Settings, run: Name, *, final: bool) -> None:
    intent, back, last = recover.open_intent(settings), target(settings), recover.last_done(settings)
    serves = sorted(view for view, pin in last.pins.items() if pin.run == run) if last else []
    holder = leases.holder(settings, f"run_{run}")
    reasons = [
        (bool(serves), f"it is served, by {', '.join(serves)}", _SWITCH),
        (run in runs_of(intent), "an open publication names it", "`lk up` finishes or reverts that"),
        (
            run in runs_of(back) and not final,
            f"`lk rollback` would serve it (publication {back.seq if back else 0})",
            f"to give that up: `lk retire {run} --final`",
        ),
        (holder is not None, f"it is driven by {holder}", "stop that process where it runs, then retire it again"),
    ]
    for named, what, fix in reasons:
        if named:
            raise Refused(f"run {run} cannot be ended: {what}", where="control.publications", fix=fix)


def _free(settings: Settings, run: runs.Run) -> None:
    """Each step can be done again. Trino forgets a table before its files go."""
    known = metastore.tables(settings, "speed")
    for view in run.views:
        if ("speed", joined(view, run.id)) in known:
            metastore.unregister(settings, "speed", joined(view, run.id))
    files.remove(table_paths.run(settings, run.id))
    files.remove(table_paths.checkpoint(settings, run.id))
    kafka_admin.delete_group(settings, run.id)
