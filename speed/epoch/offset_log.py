"""Spark's offset log in a run's checkpoint: it names the end offsets of an epoch before the epoch runs."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.cut import Cut, Span
from core.errors import NEW_RUN, Refused
from core.identifiers import Name
from infra.control.runs import Run
from infra.lake import table_paths
from infra.lake.files import entries, filesystem
from infra.settings import Settings


@dataclass(frozen=True)
class PlannedEpoch:
    """An epoch as the offset log plans it; a retry has the same plan."""

    number: int
    start: Cut
    end: Cut
    batch_time_ms: int

    @property
    def spans(self) -> tuple[Span, ...]:
        """The offsets to read, per partition."""
        return self.end.since(self.start)

    @property
    def size(self) -> int:
        """Offsets in the epoch."""
        return self.end.size_since(self.start)


def planned_epoch(settings: Settings, run: Run, number: int) -> PlannedEpoch:
    """Epoch ``number``, from the checkpoint. Raises Refused when an offset decreased."""
    end, batch_time_ms = _logged(settings, run.id, number)
    start = _logged(settings, run.id, number - 1)[0] if number else run.origin
    if not start <= end:
        raise Refused(
            f"epoch {number} ends before it starts: {end.behind(start)}",
            where=table_paths.checkpoint(settings, run.id),
            fix=f"the topic was replaced or the checkpoint is damaged; {NEW_RUN}",
        )
    return PlannedEpoch(number, start, end, batch_time_ms)


def last_entry(settings: Settings, run: Name, log: str) -> int:
    """The last epoch in one of Spark's logs, ``offsets`` or ``commits``; -1 for an empty log."""
    files, root = filesystem(table_paths.checkpoint(settings, run))
    names = (info.base_name for info in entries(files, f"{root}/{log}"))
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _logged(settings: Settings, run: Name, number: int) -> tuple[Cut, int]:
    files, root = filesystem(table_paths.checkpoint(settings, run))
    path = f"{root}/offsets/{number}"
    try:
        with files.open_input_stream(path) as stream:
            _, metadata, offsets, *more = stream.read().decode().splitlines()
    except (FileNotFoundError, ValueError):
        raise Refused(f"epoch {number} is not in the offset log", where=path, fix=NEW_RUN) from None
    if more:
        raise Refused("the offset log has more than one source", where=path, fix=NEW_RUN)
    return Cut.parse(offsets), int(json.loads(metadata)["batchTimestampMs"])
