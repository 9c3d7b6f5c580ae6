"""Fold boundaries: the epochs whose end no folded row may span."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.identifiers import Name
from infra.control import builds, claims, publications
from infra.control.builds import build_number
from infra.lake import table_snapshots
from infra.settings import Settings


@dataclass
class FoldBoundaries:
    """Epochs of a run whose builds are served, or may be: no folded row may span the end of one.

    What is served, or about to be, always counts, also while a repair has taken the verdict of its build back. Of the
    claims, those count whose build passed and was not deleted, and the last ones that are newer than the last that
    passed. They are read again only after a commit, which after years takes longer than a fold.
    """

    settings: Settings
    run: Name
    _versions: tuple[int, ...] = ()
    _ends: dict[Name, list[int]] = field(default_factory=dict)

    def ends(self, view: Name) -> list[int]:
        """The epochs for a view, in order."""
        paths = [table.path(self.settings) for table in (claims.TABLE, publications.TABLE, builds.TABLE)]
        snapshots = map(table_snapshots.current, paths)
        versions = tuple(snapshot.table.version() if snapshot else -1 for snapshot in snapshots)
        if versions != self._versions:
            self._ends = self._read()
            self._versions = versions
        return self._ends.get(view, [])

    def _read(self) -> dict[Name, list[int]]:
        verdicts, claimed = builds.verdicts(self.settings), claims.claimed_epochs(self.settings, self.run)
        last_passed: dict[Name, int] = {}
        for build, _, views in claimed:
            for view in (view for view in views if verdicts.get((view, build))):
                last_passed[view] = max(build_number(build), last_passed.get(view, 0))
        ends = self._served_epochs()
        unproven: dict[Name, list[tuple[int, int]]] = {}
        for build, epoch, views in claimed:
            for view in views:
                if verdicts.get((view, build)):
                    ends.setdefault(view, set()).add(epoch)
                elif build_number(build) > last_passed.get(view, 0):
                    unproven.setdefault(view, []).append((build_number(build), epoch))
        for view, newest in unproven.items():
            ends.setdefault(view, set()).update(epoch for _, epoch in sorted(newest)[-builds.UNPROVEN_KEPT :])
        kept = {build for _, build in verdicts}
        for view, pinned, epoch in publications.pinned_epochs(self.settings, self.run, kept):
            if pinned is None or (view, pinned) in verdicts:
                ends.setdefault(view, set()).add(epoch)
        return {view: sorted(epochs) for view, epochs in ends.items()}

    def _served_epochs(self) -> dict[Name, set[int]]:
        epochs: dict[Name, set[int]] = {}
        for publication in (publications.last_done(self.settings), publications.open_intent(self.settings)):
            for view, pin in publication.pins.items() if publication else ():
                if pin.run == self.run:
                    epochs.setdefault(view, set()).add(pin.epoch)
        return epochs
