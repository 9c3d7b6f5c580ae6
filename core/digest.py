"""Digests of definitions: equal for definitions of the same data, whatever their comments and presentation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any

from core import semantics
from core.identifiers import Name
from core.route import Route
from core.topic import Topic
from core.view import Keyed, View

_NOT_DATA = {
    "comment",
    "shown",
    "only",
    "checks",
    "allow_empty",
    "partitions",
    "most_quarantined",
    "generator",
    "personal",
}


def topic_digest(topic: Topic) -> Name:
    """Digest of a topic's decoder: format, fields, rules and the version of decoding."""
    compacted = {"compacted": semantics.COMPACTED} if topic.compacted else {}
    return _digest({"topic": _plain(topic), "semantics": semantics.DECODER, **compacted})


def view_digest(view: View, topics: Mapping[Name, Topic]) -> Name:
    """Digest of what a view computes, including the decoders of its sources."""
    version = semantics.KEYED if isinstance(view, Keyed) else semantics.ROLLUP
    sources = [topic_digest(topics[Name(source)]) for source in sorted(view.sources)]
    time_keys = {"time_keys": semantics.TIME_KEYS} if any(key.type == "timestamp" for key in view.keys) else {}
    return _digest({"view": _plain(view), "sources": sources, "semantics": version, **time_keys})


def route_digest(route: Route, topics: Mapping[Name, Topic]) -> Name:
    """Digest of the records that a route copies and of their destinations, including the decoders of its sources."""
    sources = [topic_digest(topics[Name(source)]) for source in sorted(route.sources)]
    return _digest({"route": _plain(route), "sources": sources, "semantics": semantics.ROUTE})


def _digest(value: object) -> Name:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return Name("d" + hashlib.sha256(text.encode()).hexdigest()[:12])


def _plain(value: Any) -> Any:
    """As JSON values. Fields with their default value are left out, so that a new option changes no digest."""
    if is_dataclass(value):
        members = {field.name: getattr(value, field.name) for field in fields(value) if _counts(value, field)}
        return {"kind": type(value).__name__, **{name: _plain(item) for name, item in members.items()}}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _counts(value: Any, field: Field[Any]) -> bool:
    return field.name not in _NOT_DATA and getattr(value, field.name) not in (field.default, {})
