"""Which views of a publication may count a person who was erased since."""

from __future__ import annotations

from core.catalog import Catalog
from core.identifiers import Name
from infra.control.erasures import last_counting
from infra.control.pins import Pin
from infra.control.publications import Publication, completed_pins
from infra.settings import Settings


def counting_views(settings: Settings, catalog: Catalog, publication: Publication) -> list[Name]:
    """The views with another definition now that serve what was served before an erasure.

    A later publication may hold such views too: it changed others, and kept these as they were.
    """
    last = last_counting(settings)
    outdated = {
        view: pin
        for view, pin in publication.pins.items()
        if view not in catalog.views or pin.digest != catalog.digest(view)
    }
    if not last or not outdated:
        return []
    if publication.seq <= last:
        return sorted(outdated)
    before = next((pins for seq, pins in completed_pins(settings) if seq <= last), {})
    return sorted(view for view, pin in outdated.items() if view in before and _share(pin, before[view]))


def _share(pin: Pin, before: Pin) -> bool:
    """Whether two pins name the same build, or the same run."""
    return (pin.build is not None and pin.build == before.build) or (pin.run is not None and pin.run == before.run)
