"""The newest publications for a page that asks every few seconds: their pins are parsed once."""

from __future__ import annotations

from dataclasses import dataclass

from infra.control import publications
from infra.control.publications import Change
from infra.lake import table_snapshots
from infra.settings import Settings


@dataclass
class NewestChanges:
    """The last ``count`` publications in their newest state, read again only after a commit of their table."""

    settings: Settings
    count: int
    _read_at: object = None
    _changes: tuple[Change, ...] = ()

    def read(self) -> tuple[Change, ...]:
        """The publications, oldest first."""
        snapshot = table_snapshots.current(publications.TABLE.path(self.settings))
        at = snapshot and (snapshot.table.version(), snapshot.entry)
        if at is None or at != self._read_at:
            self._changes = tuple(publications.recent_changes(self.settings, self.count))
            self._read_at = at
        return self._changes
