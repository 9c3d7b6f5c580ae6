"""Makes a run serve: the first one, before any build, or a new one that takes over from another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra.control import locks, runs
from infra.control.builds import read_builds
from infra.control.claims import claim_of
from infra.control.epochs import epoch_at
from infra.control.publications import Pin, Publication
from infra.control.runs import Run
from infra.lake import delta, table_paths
from infra.local.epoch_lock import block_epochs
from infra.retry import retry_on
from infra.settings import Settings
from serving import replace_views, view_sql
from serving.publish import ServedNow, check_crossing, served_ends, served_now

PATIENCE = 120.0
_UNDER_WAY = 10.0  # seconds; a process that is paused in the middle of an epoch is not waited for


def serve_run(
    settings: Settings, catalog: Catalog, run: Name, why: str, *, who: str | None = None, patience: float = PATIENCE
) -> Publication:
    """Serves the partials of a run, on top of a build at whose cut it starts: the served one, else one that passed.

    Under the lock it waits until the run has reached what is served now, in every partition. A view whose definition
    the run does not have, or whose build it cannot be added to, keeps what it serves. Raises TryAgain after
    ``patience`` seconds.
    """
    declared = runs.read_run(settings, run)
    with locks.hold(settings, "control") as lease:
        now = served_now(settings, catalog, lease)
        pins = _pins(settings, catalog, declared, now)
        if now.last and pins == now.last.pins:
            return now.last
        moved = {view: pin for view, pin in pins.items() if now.pins.get(view) != pin}
        kept = {view: now.texts[view] for view in pins if view not in moved}
        evidence = {"run": run, "start": declared.start.as_dict(), "from": sorted(_runs(now))}
        with reached(settings, catalog, declared, moved, now, patience):
            check_crossing(settings, moved)
            return replace_views.change(
                settings, catalog, lease, "run", pins, why=why, who=who, evidence=evidence, kept=kept
            )


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
    """The served build with the run's epochs after its cut; else, for a run from offset 0, the run alone.

    Else a build that passed with the run's definition, and at whose cut the run starts.
    """
    shape, digest = view_sql.shape_digest(catalog.view(view)), run.views[view]
    if before and before.run == run.id:
        return before
    if before and before.build and before.digest == digest:
        epoch = epoch_at(settings, run.id, before.cut.only(run.topics))
        claimed_here = claim_of(settings, before.build).run == run.id
        # Folds keep clear of claims: an epoch that is not claimed may be folded across.
        if epoch and (epoch.number == -1 or claimed_here):
            return Pin(before.build, run.id, epoch.number, before.cut, digest, "lambda", shape)
    if run.start.only(catalog.view(view).sources) == Cut():
        return Pin(None, run.id, -1, Cut(), digest, "speed", shape)
    for built in reversed(read_builds(settings)):
        if (built.view, built.digest, built.passed) == (view, digest, True) and built.cut.only(run.topics) == run.start:
            return Pin(built.build, run.id, -1, built.cut, digest, "lambda", shape)
    return None


@contextlib.contextmanager
def reached(
    settings: Settings, catalog: Catalog, run: Run, moved: Mapping[Name, Pin], now: ServedNow, patience: float
) -> Iterator[None]:
    """The block in which a run may take over: it has reached what is served, and what serves begins no epoch meanwhile.

    Raises TryAgain when it does not within ``patience`` seconds.
    """
    _wait(settings, catalog, run, moved, now, patience)
    before = {pin.run for view in moved if (pin := now.pins.get(view)) and pin.run}
    with contextlib.ExitStack() as others:
        for other in sorted(before - {run.id}):
            others.enter_context(block_epochs(settings, other, _UNDER_WAY))
        _wait(settings, catalog, run, moved, now, min(patience, settings.lease_seconds))
        yield


class _NotReached(TryAgain):
    """The run is still behind what is served."""


def _wait(
    settings: Settings, catalog: Catalog, run: Run, moved: Mapping[Name, Pin], now: ServedNow, patience: float
) -> None:
    """Waits until the run's tables are there and nothing that is served would go back; TryAgain when it does not."""

    def lacking() -> str | None:
        for view in moved:
            if not delta.exists(table_paths.speed(settings, run.id, view)):
                return f"its table of {view} is not there"
        ends = served_ends(settings, moved)
        for view, before in served_ends(settings, {view: now.pins[view] for view in moved if view in now.pins}).items():
            sources = catalog.view(view).sources
            old, new = before.only(sources), ends[view].only(sources)
            if new.behind(old):
                span = new.behind(old)[0]
                return f"{view}: topic {span.topic}, partition {span.partition}: {span.start} of {span.end}"
        return None

    def require_reached() -> None:
        if behind := lacking():
            raise _NotReached(
                f"run {run.id} has not reached what is served within {patience:.0f} s",
                where=behind,
                fix="look at `lk speed status`, then run the command again; what is served stays as it is",
            )

    retry_on(_NotReached, require_reached, patience, every=0.2)


def _runs(now: ServedNow) -> set[str]:
    return {pin.run for pin in now.pins.values() if pin.run}
