"""All topics, views and routes of an instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from core.digest import route_digest, topic_digest, view_digest
from core.errors import Usage
from core.example import Example
from core.identifiers import Name
from core.route import Route
from core.topic import Topic
from core.view import View

T = TypeVar("T")


@dataclass(frozen=True)
class Catalog:
    """Topics, views and routes by name, sorted by name.

    ``files`` maps (kind, name) to the file that defines it, ``examples`` a view to the example in its file.
    """

    topics: Mapping[Name, Topic]
    views: Mapping[Name, View]
    files: Mapping[tuple[str, str], str] = field(default_factory=dict, compare=False)
    routes: Mapping[Name, Route] = field(default_factory=dict)
    examples: Mapping[Name, Example] = field(default_factory=dict, compare=False)

    def topic(self, name: str) -> Topic:
        """The topic of that name. Raises Usage if there is none."""
        return _named("topic", name, self.topics)

    def view(self, name: str) -> View:
        """The view of that name. Raises Usage if there is none."""
        return _named("view", name, self.views)

    def route(self, name: str) -> Route:
        """The route of that name. Raises Usage if there is none."""
        return _named("route", name, self.routes)

    def sources(self, views: Iterable[str]) -> tuple[Name, ...]:
        """The topics that some views read, sorted."""
        return tuple(sorted({Name(source) for view in views for source in self.view(view).sources}))

    def reading(self, topic: str) -> tuple[View, ...]:
        """The views that read a topic, sorted by name."""
        return tuple(view for view in self.views.values() if topic in view.sources)

    def only(self, views: Iterable[str]) -> Catalog:
        """Some of the views and the topics that they read. Raises Usage for an unknown view."""
        chosen = {Name(name): self.view(name) for name in sorted(set(views))}
        sources = self.sources(chosen)
        return Catalog({name: self.topics[name] for name in sources}, chosen, self.files)

    def only_topics(self, topics: Iterable[Name]) -> Catalog:
        """Some of the topics, without a view."""
        return Catalog({name: self.topics[name] for name in topics}, {})

    @property
    def reproducible(self) -> tuple[Name, ...]:
        """The views that builds and replays can reproduce from the log, sorted."""
        return tuple(name for name, view in self.views.items() if view.reproducible)

    def decoder(self, topic: str) -> Name:
        """Digest of a topic's decoder."""
        return topic_digest(self.topic(topic))

    def digest(self, view: str) -> Name:
        """Digest of a view."""
        return view_digest(self.view(view), self.topics)

    def route_digest(self, route: str) -> Name:
        """Digest of a route."""
        return route_digest(self.route(route), self.topics)


def _named(kind: str, name: str, definitions: Mapping[Name, T]) -> T:
    for key, definition in definitions.items():
        if key == name:
            return definition
    raise Usage(f"there is no {kind} {name!r}", fix=f"use one of: {', '.join(definitions) or '(none is defined)'}")
