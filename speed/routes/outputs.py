"""The output topics of a route's runs."""

from __future__ import annotations

from core.identifiers import Name, joined
from core.route import Route


def output_topics(route: Route, run: Name, *, live: bool) -> dict[str, str]:
    """Output -> topic: the route's own, or those of one run."""
    return {o.name: o.name if live else joined(Name(o.name), run) for o in route.outputs}
