"""A fence makes the commits of an outdated lease holder fail: each commit carries the generation of the lease.

The generation is the version of a ``txn`` action. Two writers that commit the same action on top of one version of a
table conflict, so an older holder either sees the newer generation or gets a commit conflict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from deltalake import Transaction

from core.errors import TryAgain
from core.identifiers import Name


class TableVersion(Protocol):
    """A version of a table, which knows the last version that each app has committed."""

    def transaction_version(self, app: str, /) -> int | None:
        """The last version that ``app`` committed."""


@dataclass(frozen=True)
class Fence:
    """The name of a lease and the generation of its holder, which each new holder raises."""

    name: Name
    generation: int

    @property
    def app(self) -> str:
        """The app id of the ``txn`` action."""
        return f"lease/{self.name}"

    @property
    def transaction(self) -> Transaction:
        """The ``txn`` action of every commit under the lease."""
        return Transaction(self.app, self.generation)

    def check_against(self, table: TableVersion) -> None:
        """Raises TryAgain when this snapshot of a fenced table holds a later generation."""
        last = table.transaction_version(self.app) or 0
        if last > self.generation:
            raise lease_lost(self.name, f"generation {self.generation}, now {last}")

    def is_on(self, table: TableVersion) -> bool:
        """Whether this snapshot holds this generation, so that commits of older ones fail."""
        return bool(table.transaction_version(self.app) == self.generation)


def lease_lost(name: Name, where: str) -> TryAgain:
    """The error of a holder whom another process has replaced."""
    return TryAgain(f"lease lost: {name}", where=where, fix="nothing was committed; run the command again")
