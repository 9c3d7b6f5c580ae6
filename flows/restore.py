"""From the log alone: lake, checkpoints and Trino's state are brought back from Kafka."""

from __future__ import annotations

from dataclasses import dataclass

from core.catalog import Catalog
from flows import speed
from flows.batch_cycle import BatchRun, run_batch
from infra.settings import Settings
from speed.process.lifecycle import RunState

LOST = ("the history of publications", "earlier builds and claims", "earlier runs with their partials and lag")


@dataclass(frozen=True)
class Restored:
    """What was brought back, and what a log cannot bring back."""

    batch: BatchRun
    speed: RunState
    lost: tuple[str, ...] = LOST

    @property
    def line(self) -> str:
        """What did not come back, in one line."""
        return f"{self.speed.line}\nWhat a log cannot bring back, if it was lost: {'; '.join(self.lost)}."


def restore(settings: Settings, catalog: Catalog) -> Restored:
    """Lands and builds the whole log, publishes, and starts a run from that cut. Harmless where nothing was lost."""
    batch = run_batch(settings, catalog, why="lk rebuild")
    return Restored(batch, speed.start(settings, catalog))
