"""The classic reset: the run that serves is stopped, and the log is read again from offset zero in its place.

Readers pay for it: from the stop until the new run has caught up they see less than they saw before. A replay with a
switch does without that; what it needs instead is room for two runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from flows import replays, speed
from infra.control.epochs import read_epochs
from infra.control.publications import Publication
from infra.settings import Settings
from serving import recover, switch
from serving.publish import changed_since
from speed.process import lifecycle, throttle


@dataclass(frozen=True)
class SwitchedInPlace:
    """What a reset did. ``outage`` is seconds from the stop until all that was served before had been read again."""

    publication: Publication
    run: Name
    outage: float
    already: bool


def switch_in_place(
    settings: Settings, catalog: Catalog, *, from_archive: bool = False, why: str = "lk switch kappa --in-place"
) -> SwitchedInPlace:
    """Serves a new run from offset zero at once, and waits until it has caught up; safe to repeat after a crash.

    What was served before is what `lk rollback` goes back to. A reset that was the last change is only waited for.
    """
    last = recover.last_done(settings)
    already = last is not None and last.kind == "reset" and not _others(catalog, last)
    done = last if last and already else _reset(settings, catalog, from_archive=from_archive, why=why)
    evidence = done.evidence_values
    run = Name(evidence["run"])
    lifecycle.start(settings, run)
    replays.wait(settings, run)
    before = [Cut.of(cut) for cut in evidence["before"].values()]
    whole = max(done.at, _reached(settings, run, before) or done.at)
    outage = whole - datetime.fromisoformat(evidence["stopped"])
    return SwitchedInPlace(done, run, outage.total_seconds(), already)


def _others(catalog: Catalog, last: Publication) -> bool:
    return bool(changed_since(last, catalog)) or not catalog.views.keys() <= last.pins.keys()


def _reset(settings: Settings, catalog: Catalog, *, from_archive: bool, why: str) -> Publication:
    """Whatever refuses a replay refuses this before the run that serves is stopped."""
    run = replays.declared(settings, catalog, from_archive=from_archive).id
    throttle.set_limit(settings, run, None)
    stopped = datetime.now(UTC)
    speed.stop(settings)
    lifecycle.start(settings, run)
    return switch.switch_in_place(settings, catalog, run, stopped=stopped, why=why)


def _reached(settings: Settings, run: Name, before: list[Cut]) -> datetime | None:
    """When the run had read again all that was served before; None for an empty log."""
    done = (epoch for epoch in read_epochs(settings, run) if all(cut <= epoch.end for cut in before))
    return next((epoch.committed_at for epoch in done), None)
