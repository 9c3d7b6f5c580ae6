"""The role of each run, derived from the control tables: runs, publications and endings. It is stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from deltalake import DeltaTable

from core.identifiers import Name
from infra.control import runs
from infra.control.builds import unusable_builds
from infra.control.pins import Pin
from infra.control.publications import TABLE, Publication, completed_pins, done_publication, has_served, last_done
from infra.control.run_endings import read_endings
from infra.lake import delta
from infra.settings import Settings

Role = Literal["serving", "warm", "replay", "idle", "abandoned", "retired"]
ENDED: tuple[Role, ...] = ("abandoned", "retired")  # the tables of such a run are deleted


def roles(settings: Settings) -> Mapping[Name, Role]:
    """The role of every run, oldest run first.

    ``serving``: a served view pins it. ``warm``: `lk rollback` would serve it. ``replay``: it has not served yet.
    ``idle``: any other run that has not ended. ``abandoned`` and ``retired``: it has ended.
    """
    endings, serving = read_endings(settings), serving_runs(settings)
    warm = pinned_runs(_rollback_target(settings, endings.keys()))
    roles: dict[Name, Role] = {}
    for run in runs.read_runs(settings):
        if run.id in endings:
            roles[run.id] = endings[run.id].how
        elif run.id in serving:
            roles[run.id] = "serving"
        elif run.id in warm:
            roles[run.id] = "warm"
        else:
            roles[run.id] = "replay" if run.kind == "replay" and not has_served(settings, run.id) else "idle"
    return roles


def current_run(settings: Settings) -> Name | None:
    """The newest run that serves, else the newest warm one, else the newest idle one."""
    by_run = roles(settings)
    for preferred in ("serving", "warm", "idle"):
        candidates = [run for run, role in by_run.items() if role == preferred]
        if candidates:
            return candidates[-1]
    return None


def replay_in_progress(settings: Settings) -> Name | None:
    """The newest run that reads the log again and has neither served nor ended."""
    replays = [run for run, role in roles(settings).items() if role == "replay"]
    return replays[-1] if replays else None


def serving_runs(settings: Settings) -> frozenset[Name]:
    """The runs that served views pin, by the last publication."""
    return pinned_runs(last_done(settings))


@dataclass
class ServingWatch:
    """Answers repeatedly whether a run serves; it reads the publications only after a new commit."""

    settings: Settings
    run: Name
    _opened: DeltaTable | None = None
    _version: int = -1
    _serves: bool = False

    def is_serving(self) -> bool:
        """Whether a served view pins the run."""
        path = TABLE.path(self.settings)
        if self._opened is None and delta.exists(path):
            self._opened = delta.table(path)
        if self._opened is None:
            return False
        self._opened.update_incremental()
        if self._opened.version() != self._version:
            self._version = self._opened.version()
            self._serves = self.run in serving_runs(self.settings)
        return self._serves


def rollback_target(settings: Settings) -> Publication | None:
    """The publication that `lk rollback` serves again: the newest earlier one whose runs and builds all exist."""
    return _rollback_target(settings, read_endings(settings).keys())


def _rollback_target(settings: Settings, ended: AbstractSet[Name]) -> Publication | None:
    completed = completed_pins(settings)
    _, last = next(completed, (0, {}))
    candidates = ((seq, pins) for seq, pins in completed if pins != last and not _runs(pins) & ended)
    at_once = 1  # mostly the first is usable; for a long history that is not, few reads of the builds
    while portion := list(islice(candidates, at_once)):
        unusable = unusable_builds(settings, {pin.build for _, pins in portion for pin in pins.values() if pin.build})
        for seq, pins in portion:
            if not any((view, pin.build) in unusable for view, pin in pins.items()):
                return done_publication(settings, seq)
        at_once *= 10
    return None


def pinned_runs(publication: Publication | None) -> frozenset[Name]:
    """The runs that a publication pins."""
    return _runs(publication.pins) if publication else frozenset()


def _runs(pins: Mapping[Name, Pin]) -> frozenset[Name]:
    return frozenset(pin.run for pin in pins.values() if pin.run)
