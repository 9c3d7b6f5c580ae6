"""The memory of the processes of this machine, as the picture says it."""

from __future__ import annotations

from core.evidence.quantity import mebibytes
from core.identifiers import Name
from flows.live_page.snapshot import Snapshot
from speed.process import background


def memory_of_server(snapshot: Snapshot, name: str) -> str:
    """The memory of a server, of all its brokers if it is Kafka; "" if none of them runs here."""
    return _text(sum(p.memory for p in snapshot.process_states if p.name.partition("-")[0] == name))


def memory_of_run(snapshot: Snapshot, run: Name) -> str:
    """The memory of the process that drives a run; "" if none does here."""
    return _text(sum(p.memory for p in snapshot.process_states if p.name == background.name(run)))


def _text(size: int) -> str:
    return f"{mebibytes(size)} of memory" if size else ""
