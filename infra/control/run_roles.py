"""What each run is for, derived from what was declared, published and ended; nothing else says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from deltalake import DeltaTable

from core.identifiers import Name
from infra.control import runs
from infra.control.builds import read_builds
from infra.control.publications import TABLE, Publication, read_publications
from infra.control.run_endings import read_endings
from infra.lake import delta
from infra.settings import Settings

Role = Literal["serving", "warm", "replay", "idle", "abandoned", "retired"]


def roles(settings: Settings) -> Mapping[Name, Role]:
    """Every run's role, oldest first.

    ``serving``: a served view pins it. ``warm``: `lk rollback` would serve it. ``replay``: it has not served yet.
    ``idle``: any other run that neither serves nor would. ``abandoned`` and ``retired``: it has ended.
    """
    done, ended = _done(settings), read_endings(settings)
    serving, warm = runs_of(done[-1] if done else None), runs_of(_target(settings, done, ended.keys()))
    served = frozenset().union(*map(runs_of, done))
    found: dict[Name, Role] = {}
    for run in runs.read_runs(settings):
        if run.id in ended:
            found[run.id] = ended[run.id].how
        elif run.id in serving:
            found[run.id] = "serving"
        elif run.id in warm:
            found[run.id] = "warm"
        else:
            found[run.id] = "replay" if run.kind == "replay" and run.id not in served else "idle"
    return found


def current(settings: Settings) -> Name | None:
    """The run that serves (the newest, where several do), else the newest that is neither a replay nor ended."""
    known = roles(settings)
    for role in ("serving", "warm", "idle"):
        fit = [run for run, its in known.items() if its == role]
        if fit:
            return fit[-1]
    return None


def serving_runs(settings: Settings) -> frozenset[Name]:
    """The runs that served views pin, by the last publication."""
    done = _done(settings)
    return runs_of(done[-1] if done else None)


@dataclass
class Serving:
    """Whether a run serves, for who asks again and again: publications are read only after one was added."""

    settings: Settings
    run: Name
    _opened: DeltaTable | None = None
    _version: int = -1
    _serves: bool = False

    def now(self) -> bool:
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


def target(settings: Settings) -> Publication | None:
    """What `lk rollback` goes back to: the newest publication before the last whose runs and builds are all there."""
    return _target(settings, _done(settings), read_endings(settings).keys())


def _target(settings: Settings, done: Sequence[Publication], ended: AbstractSet[Name]) -> Publication | None:
    earlier = [p for p in done[:-1] if p.pins != done[-1].pins and not runs_of(p) & ended]
    freed = {(b.view, b.build) for b in read_builds(settings) if not b.passed} if earlier else set()
    whole = [p for p in earlier if not any((view, pin.build) in freed for view, pin in p.pins.items())]
    return whole[-1] if whole else None


def runs_of(publication: Publication | None) -> frozenset[Name]:
    """The runs that a publication pins."""
    return frozenset(pin.run for pin in publication.pins.values() if pin.run) if publication else frozenset()


def _done(settings: Settings) -> list[Publication]:
    return [p for p in read_publications(settings) if p.state == "done"]
