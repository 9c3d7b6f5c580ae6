"""Up to which offsets a view serves the log."""

from __future__ import annotations

from collections.abc import Mapping

from core.cut import Cut
from core.identifiers import Name
from infra.control.manifest import Epoch, last_epoch
from infra.control.pins import Pin
from infra.settings import Settings


def served_end(pin: Pin, last: Epoch | None) -> Cut:
    """The end of what a pin serves: that of the run's last epoch if it is after the pinned one, else the pinned cut."""
    return last.end if last and last.number > pin.epoch else pin.cut


def last_served_epochs(settings: Settings, pins: Mapping[Name, Pin]) -> dict[Name, Epoch | None]:
    """The last epoch of each run that serves a view, each read once; None for a run without any."""
    return {run: last_epoch(settings, run) for run in {pin.run for pin in pins.values()} if run}


def served_ends(settings: Settings, pins: Mapping[Name, Pin]) -> dict[Name, Cut]:
    """The served end of each view. The last epoch of each run is read once."""
    last = last_served_epochs(settings, pins)
    return {view: served_end(pin, last[pin.run] if pin.run else None) for view, pin in pins.items()}
