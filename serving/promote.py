"""Promotes a run: the first run, before any build, or a new run that replaces the one that serves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

from core.catalog import Catalog
from core.cut import Cut
from core.errors import SERVED_STAYS, Refused, TryAgain
from core.identifiers import Name
from infra.control import locks, runs
from infra.control.builds import passed_builds
from infra.control.claims import claim_of
from infra.control.manifest import ARCHIVE_EPOCH, claimed_epoch
from infra.control.pins import Pin
from infra.control.publications import Publication
from infra.control.runs import Run
from infra.lake import delta, leases, table_paths
from infra.local.epoch_lock import block_epochs
from infra.retry import retry_on
from infra.settings import Settings
from serving import replace_views, view_sql
from serving.publish import ServedNow, served_now
from serving.replace_views import ServingChange
from serving.served_ends import served_ends
from serving.uncrossed_folds import require_uncrossed

PATIENCE = 120.0


def serve_run(
    settings: Settings, catalog: Catalog, run: Name, why: str, *, who: str | None = None, patience: float = PATIENCE
) -> Publication:
    """Serves the partials of a run on top of a build: the served build, else one that passed and ends where it starts.

    Waits under the lock until the run has reached the served offsets in every partition. A view keeps what it serves
    if the run has another definition of it, or if no such build exists. Raises TryAgain after ``patience`` seconds.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        pins = _pins(settings, catalog, declared, now)
        if now.last and pins == now.last.pins:
            return now.last
        changed_pins = _changed(pins, now)
        with caught_up(settings, catalog, declared, changed_pins, now, patience):
            require_uncrossed(settings, changed_pins)
            return replace_views.apply_change(settings, catalog, lease, _change(declared, pins, now, why, who))


def replace_run(settings: Settings, catalog: Catalog, run: Name, damaged: Name, why: str) -> Publication:
    """Serves a run instead of one whose tables are damaged and whose served end may no longer be readable.

    The run starts at a cut that was claimed after the damaged one had ended, so no view goes back. Views that another
    run serves stay with it. Raises TryAgain while a process drives the damaged run.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        if _is_driven(settings, damaged):
            raise TryAgain(
                f"a process drives run {damaged}, whose tables are damaged; {SERVED_STAYS}",
                where=f"run {damaged}",
                fix="stop it, then run the command again",
            )
        now = served_now(settings, catalog, lease)
        healthy = {view: pin for view, pin in now.pins.items() if pin.run not in (damaged, None)}
        pins = _pins(settings, catalog, declared, now) | healthy
        return replace_views.apply_change(settings, catalog, lease, _change(declared, pins, now, why, None))


def _changed(pins: Mapping[Name, Pin], now: ServedNow) -> dict[Name, Pin]:
    return {view: pin for view, pin in pins.items() if now.pins.get(view) != pin}


def _change(run: Run, pins: Mapping[Name, Pin], now: ServedNow, why: str, who: str | None) -> ServingChange:
    kept_sql = {view: now.sql[view] for view in pins.keys() - _changed(pins, now).keys()}
    evidence = {"run": run.id, "start": run.start.as_dict(), "from": sorted(_runs(now))}
    return ServingChange("run", pins, why, who, evidence, kept_sql)


def _pins(settings: Settings, catalog: Catalog, run: Run, now: ServedNow) -> dict[Name, Pin]:
    pins = dict(now.pins)
    for view, digest in run.views.items():
        if view in catalog.views and catalog.digest(view) == digest:
            pin = _pin(settings, catalog, run, view, now.pins.get(view))
            if pin:
                pins[view] = pin
    if not any(pin.run == run.id for pin in pins.values()):
        raise Refused(
            f"run {run.id} can serve no view: it starts at {run.start}, and no build ends there",
            where=f"run {run.id}",
            fix="start a run from the cut of a build: `lk speed start --new`",
        )
    return dict(sorted(pins.items()))


def _pin(settings: Settings, catalog: Catalog, run: Run, view: Name, before: Pin | None) -> Pin | None:
    """The pin of a view: the served build and the run's epochs after its cut, if the run has an epoch that ends there.

    Else the run alone if it starts at offset 0. Else the last build that passed with the run's definition and ends
    where the run starts. None if there is no such build.
    """
    shape, digest = view_sql.shape_digest(settings, catalog, view), run.views[view]
    if before and before.run == run.id:
        return replace(before, shape=shape)
    if before and before.build and before.digest == digest:
        epoch = claimed_epoch(settings, run, claim_of(settings, before.build))
        if epoch is not None:
            return Pin(before.build, run.id, epoch, before.cut, digest, "lambda", shape)
    if run.start.only(catalog.view(view).sources) == Cut():
        return Pin(None, run.id, ARCHIVE_EPOCH, Cut(), digest, "speed", shape)
    for built in reversed(passed_builds(settings, view, digest)):
        if built.cut.only(run.topics) == run.start:
            return Pin(built.build, run.id, ARCHIVE_EPOCH, built.cut, digest, "lambda", shape)
    return None


@contextlib.contextmanager
def caught_up(
    settings: Settings, catalog: Catalog, run: Run, changed_pins: Mapping[Name, Pin], now: ServedNow, patience: float
) -> Iterator[None]:
    """Runs the block once the run has reached the served offsets, and blocks the epochs of the runs that serve now.

    Raises TryAgain after ``patience`` seconds, or when one of them does not end its epoch: what is served would go
    back when it committed the epoch after the last look.
    """
    _wait(settings, catalog, run, changed_pins, now, patience)
    serving_runs = {pin.run for view in changed_pins if (pin := now.pins.get(view)) and pin.run}
    deadline = time.monotonic() + settings.lease_seconds
    with contextlib.ExitStack() as blocked:
        for serving_run in sorted(serving_runs - {run.id}):
            if not blocked.enter_context(block_epochs(settings, serving_run, max(0.0, deadline - time.monotonic()))):
                _require_ended_epoch(settings, serving_run)
        _wait(settings, catalog, run, changed_pins, now, min(patience, settings.lease_seconds))
        yield


def _is_driven(settings: Settings, run: Name) -> bool:
    """Whether a process drives the run; a paused process loses its lease and no longer counts."""
    return leases.living_holder(settings, f"run_{run}") is not None


def _require_ended_epoch(settings: Settings, run: Name) -> None:
    if _is_driven(settings, run):
        raise TryAgain(
            f"run {run} has not ended its epoch within {settings.lease_seconds:.0f} s; {SERVED_STAYS}",
            where=f"run {run}",
            fix="look at `lk speed status`, then run the command again",
        )


class _Behind(TryAgain):
    """The run has not reached the served offsets."""


def _wait(
    settings: Settings, catalog: Catalog, run: Run, changed_pins: Mapping[Name, Pin], now: ServedNow, patience: float
) -> None:
    """Waits until the run's tables exist and no view would go back to an earlier offset; raises TryAgain after that."""

    served_pins = {view: now.pins[view] for view in changed_pins if view in now.pins}

    def first_gap() -> str | None:
        for view in changed_pins:
            if not delta.exists(table_paths.speed(settings, run.id, view)):
                return f"its table of {view} does not exist"
        new_ends = served_ends(settings, changed_pins)
        for view, old_end in served_ends(settings, served_pins).items():
            sources = catalog.view(view).sources
            behind = new_ends[view].only(sources).behind(old_end.only(sources))
            if behind:
                span = behind[0]
                return f"{view}: topic {span.topic}, partition {span.partition}: offset {span.start} of {span.end}"
        return None

    def require_caught_up() -> None:
        if gap := first_gap():
            raise _Behind(
                f"run {run.id} has not reached what is served within {patience:.0f} s",
                where=gap,
                fix=f"`lk runs` shows how far it is: run the command again; {SERVED_STAYS}",
            )

    retry_on(_Behind, require_caught_up, patience, every=0.2)


def _runs(now: ServedNow) -> set[str]:
    return {pin.run for pin in now.pins.values() if pin.run}
