"""Ownership of a route's output topics: one run at a time, each from a cut on. Only the owner's records go there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.cut import Cut, Span
from core.identifiers import Name


@dataclass(frozen=True)
class Ownership:
    """A run owns the output topics from the cut ``since`` to that of the next ownership."""

    run: Name
    since: Cut


@dataclass(frozen=True)
class Slice:
    """Offsets that a run copies in one transaction: to the route's topics if ``live``, else to the run's own topics."""

    span: Span
    live: bool


def next_slice(ownerships: Sequence[Ownership], run: Name, span: Span) -> Slice:
    """The longest start of a span that has one destination. A later ownership never has a lower ``since``."""
    sinces = [ownership.since.end(span.topic, span.partition) for ownership in ownerships]
    index = max(number for number, since in enumerate(sinces) if since <= span.start)
    end = min([span.end, *(since for since in sinces[index + 1 :] if since > span.start)])
    return Slice(Span(span.topic, span.partition, span.start, end), ownerships[index].run == run)
