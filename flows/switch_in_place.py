"""`lk switch kappa --in-place`, the classic reset: stop the run that serves, read the log again from offset 0.

From the stop until the new run has caught up, readers see less than before. A switch to a finished replay has no such
outage, and needs disk and CPU for two runs instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from flows import replays, speed
from flows.serving_lineage import serving_change
from infra.control.epoch_search import first_epoch_after
from infra.control.publications import Publication, last_done
from infra.settings import Settings
from serving import change_mode
from serving.publish import changed_since
from speed.process import epoch_pacing, lifecycle

_KINDS = ("in-place", "reset")  # older lakes have the second name


@dataclass(frozen=True)
class SwitchedInPlace:
    """The result. ``outage`` is seconds from the stop until the new run had read all that was served before.

    ``already``: the switch was the last change already, so this call only waited.
    """

    publication: Publication
    run: Name
    outage: float
    already: bool


def switch_in_place(
    settings: Settings, catalog: Catalog, *, from_archive: bool = False, why: str = "lk switch kappa --in-place"
) -> SwitchedInPlace:
    """Serves a new run from offset 0 at once, and waits until it has caught up; safe to repeat after a crash.

    `lk rollback` serves what was served before. If the last change was a switch in place, this only waits for it.
    """
    last = last_done(settings)
    already = last is not None and last.kind in _KINDS and not _is_outdated(catalog, last)
    publication = last if last and already else _replace_run(settings, catalog, from_archive=from_archive, why=why)
    evidence = publication.evidence
    run = Name(evidence["run"])
    lifecycle.start(settings, run)
    replays.wait(settings, run)
    before = [Cut.of(cut) for cut in evidence["before"].values()]
    recovered = max(publication.at, _reached(settings, run, before) or publication.at)
    outage = recovered - datetime.fromisoformat(evidence["stopped"])
    return SwitchedInPlace(publication, run, outage.total_seconds(), already)


def _is_outdated(catalog: Catalog, last: Publication) -> bool:
    """Whether a view was changed or added after the publication."""
    return bool(changed_since(last, catalog)) or not catalog.views.keys() <= last.pins.keys()


def _replace_run(settings: Settings, catalog: Catalog, *, from_archive: bool, why: str) -> Publication:
    """Declares the replay, then stops the run that serves: a Refused is raised before the stop."""
    run = replays.open_or_declare(settings, catalog, from_archive=from_archive).id
    epoch_pacing.set_rate_limit(settings, run, None)
    stopped = datetime.now(UTC)
    speed.stop(settings)
    lifecycle.start(settings, run)

    def serve() -> Publication:
        return change_mode.switch_in_place(settings, catalog, run, stopped=stopped, why=why)

    return serving_change(settings, catalog, "switch", run, serve, lambda publication: publication)


def _reached(settings: Settings, run: Name, before: list[Cut]) -> datetime | None:
    """When the run had read all that was served before; None for an empty log."""
    epoch = first_epoch_after(settings, run, before)
    return epoch.committed_at if epoch else None
