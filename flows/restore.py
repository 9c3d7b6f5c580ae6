"""`lk restore`: lake, checkpoints and served views restored from Kafka alone."""

from __future__ import annotations

from dataclasses import dataclass

from core.identifiers import Name
from flows import erase, routes, speed
from flows.batch_cycle import BatchRun, run_batch
from infra.definitions import definition_files
from infra.personal import key_store
from infra.settings import Settings
from speed.process.lifecycle import RunState

LOST = (
    "the history of publications",
    "the audit",
    "earlier builds and claims",
    "earlier runs with their partial rows and lag",
)


@dataclass(frozen=True)
class Restored:
    """What was restored, and what cannot be restored from a log."""

    batch: BatchRun
    speed: RunState
    routes: tuple[Name, ...] = ()  # that have output topics, so that they ran
    lost: tuple[str, ...] = LOST

    @property
    def line(self) -> str:
        """The state of the run, what was not restored, and the command of each route that ran."""
        lost = f"Not restored from the log, if it was lost: {'; '.join(self.lost)}."
        starts = [f"Start route {route} again, after its last copy: `lk route start {route}`" for route in self.routes]
        return "\n".join([self.speed.line, lost, *starts])


def restore(settings: Settings) -> Restored:
    """Lands and builds the whole log, publishes, and starts a run from that cut. Harmless if nothing was lost.

    Persons whose keys the key store of this machine has destroyed are left out, also of a new lake.
    """
    if key_store.destroyed(settings):
        erase.destroy_keys(settings, None, "lk restore")
    catalog = definition_files.load(settings)
    batch = run_batch(settings, catalog, why="lk restore")
    return Restored(batch, speed.start(settings, catalog), routes.with_copies(settings, catalog))
