"""Who owns a route's topics: one run at a time, each from a cut on. Which records a run may write there follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.cut import Cut, Span
from core.identifiers import Name


@dataclass(frozen=True)
class Ownership:
    """A run owns the topics from the cut ``since`` on, until the next tenure's."""

    run: Name
    since: Cut


@dataclass(frozen=True)
class Slice:
    """Offsets that one run copies in one transaction: to the route's topics (``live``), or to topics of its own."""

    span: Span
    live: bool


def next_slice(tenures: Sequence[Ownership], run: Name, span: Span) -> Slice:
    """The first offsets of a span that have one destination. Cuts of later tenures are never lower."""
    sinces = [tenure.since.end(span.topic, span.partition) for tenure in tenures]
    at = max(number for number, since in enumerate(sinces) if since <= span.start)
    end = min([span.end, *(since for since in sinces[at + 1 :] if since > span.start)])
    return Slice(Span(span.topic, span.partition, span.start, end), tenures[at].run == run)
