"""Mistakes in a topic or a view that can be seen without Spark: each with the part of the definition it is in."""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Union, get_args, get_origin, get_type_hints

from core.converters import DECIMAL
from core.decode import EVENT_TIME
from core.errors import Usage
from core.ident import Name
from core.measures import Count, Latest, Max, Measure, Min, Sum
from core.reserved import RESERVED
from core.topic import FIELD_TYPES, Field, Json, Lines, Topic, Version
from core.view import View, Window

COLUMN_TYPES = ("string", "bigint", "int", "boolean", "date", "timestamp")  # and decimal(p,s)
MOST_COPIES = 3_600
_MEASURES = (Count, Sum, Min, Max, Latest)
_JSON_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.@$-]*\Z")


@dataclass(frozen=True)
class Mistake:
    """What is wrong, in the part that was made by ``kind(name, ...)``; ``again``: in the last of them."""

    kind: str
    name: str
    text: str
    again: bool = False


def mistakes(definition: Topic | View, topics: Mapping[str, Topic]) -> list[Mistake]:
    """Every mistake of one definition; ``topics`` are those that a view may read."""
    found = list(_shape(definition))
    if found:
        return found
    return list(_topic(definition) if isinstance(definition, Topic) else _view(definition, topics))


def _at(part: Any, text: str, again: bool = False) -> Mistake:
    name = getattr(part, "name", None) or getattr(part, "number", "")
    return Mistake(type(part).__name__, str(name), text, again)


def _shape(part: Any) -> Iterator[Mistake]:
    """Values of the wrong kind, such as a tuple without its comma."""
    hints = get_type_hints(type(part))
    for field in fields(part):
        value = getattr(part, field.name)
        if not _fits(value, hints[field.name]):
            yield _at(part, f"{field.name} must be {_readable(hints[field.name])}, not {type(value).__name__}")
            continue
        for child in value if isinstance(value, tuple) else (value,):
            if is_dataclass(child):
                yield from _shape(child)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(one, inner[0]) for one in value)
    if origin is not None:
        return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))


def _readable(hint: Any) -> str:
    text = str(hint) if get_origin(hint) else getattr(hint, "__name__", str(hint))
    return re.sub(r"\b(?:core\.\w+|collections\.abc|typing)\.", "", text).replace("NoneType", "None")


def _names(parts: Iterable[Any], what: str) -> Iterator[Mistake]:
    """Names that are no names, reserved, or used twice."""
    seen: Counter[str] = Counter()
    for part in parts:
        yield from _name(part, part.name)
        seen[part.name] += 1
        if seen[part.name] == 2:
            yield _at(part, f"{what} {part.name!r} is there twice", again=True)


def _name(part: Any, name: str) -> Iterator[Mistake]:
    try:
        Name(name)
    except Usage as e:
        yield _at(part, f"{e.what}: {e.todo}")
        return
    if name in RESERVED:
        yield _at(part, f"{name!r} is a reserved word of SQL: choose another name")


def _topic(topic: Topic) -> Iterator[Mistake]:
    yield from _name(topic, topic.name)
    yield from _names(topic.fields, "field")
    yield from _names(topic.rules, "rule")
    known = {field.name: field for field in topic.fields}
    if not topic.fields:
        yield _at(topic, "a topic has at least one field")
    if topic.partitions < 1 or topic.max_bytes < 1:
        yield _at(topic, "partitions and max_bytes are at least 1")
    if topic.key is not None and topic.key not in known:
        yield _at(topic, f"key {topic.key!r} is not a field")
    if topic.event_time is not None and getattr(known.get(topic.event_time), "type", None) != "timestamp":
        yield _at(topic, f"event_time {topic.event_time!r} is not a timestamp field")
    if EVENT_TIME in known and topic.event_time != EVENT_TIME:
        yield _at(known[EVENT_TIME], "a field of this name must be the topic's event_time")
    for field in topic.fields:
        yield from _field(field)
    yield from _json(topic, topic.format) if isinstance(topic.format, Json) else _lines(topic, topic.format)


def _field(field: Field) -> Iterator[Mistake]:
    if field.type not in FIELD_TYPES and not _decimal(field.type):
        yield _at(field, f"type {field.type!r} is none of {', '.join(FIELD_TYPES)}, decimal(p,s)")
        return
    if field.time_format is not None and field.type != "timestamp":
        yield _at(field, "time_format is for timestamps")
    for bound in (field.minimum, field.maximum):
        if bound is not None and not (field.type == "bigint" or _decimal(field.type)):
            yield _at(field, "minimum and maximum are for bigint and decimal")
        elif bound is not None and not _number(bound, field.type):
            yield _at(field, f"bound {bound!r} is not a {field.type}")


def _decimal(kind: str) -> bool:
    found = DECIMAL.match(kind)
    return found is not None and 1 <= int(found[1]) <= 38 and int(found[2]) <= int(found[1])


def _number(text: str, kind: str) -> bool:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return False
    scale = 0 if kind == "bigint" else int(kind[:-1].split(",")[1])
    return value.is_finite() and value == round(value, scale)


def _json(topic: Topic, json: Json) -> Iterator[Mistake]:
    if not json.versions:
        yield _at(topic, "a JSON topic has at least one version")
    for number, times in Counter(version.number for version in json.versions).items():
        if times > 1:
            yield Mistake("Version", str(number), f"version {number} is there twice", again=True)
    spellings: dict[str, str] = {}
    for version in json.versions:
        yield from _version(topic, version)
        for name in (json.version_name, *version.names):
            if not _JSON_NAME.match(name):
                yield _at(version, f"JSON name {name!r} must begin with a letter; then letters, digits and _ . @ $ -")
            if spellings.setdefault(name.lower(), name) != name:
                yield _at(version, f"JSON names {name!r} and {spellings[name.lower()]!r} differ only in case")


def _version(topic: Topic, version: Version) -> Iterator[Mistake]:
    if version.number < 1:
        yield _at(version, "version numbers begin with 1")
    known = {field.name for field in topic.fields}
    for name in version.upcast:
        if name not in known:
            yield _at(version, f"upcast of {name!r}, which is not a field")
    for field in topic.fields:
        if field.required and field.name not in version.upcast and field.name not in version.names:
            yield _at(version, f"required field {field.name!r} is neither among the names nor upcast")


def _lines(topic: Topic, lines: Lines) -> Iterator[Mistake]:
    try:
        groups = re.compile(lines.pattern).groups
    except re.error:
        return  # Java's syntax has more than Python's; Spark's own check reads it
    if groups != len(topic.fields):
        yield Mistake("Lines", "", f"the pattern has {groups} groups for {len(topic.fields)} fields")


def _view(view: View, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    yield from _name(view, view.name)
    if view.name == "status":
        yield _at(view, "the name 'status' is taken by serving.status")
    for source, times in Counter(view.sources).items():
        if source not in topics:
            yield _at(view, f"unknown topic {source!r}; known: {', '.join(sorted(topics)) or 'none'}")
        elif times > 1:
            yield _at(view, f"source {source!r} is there twice", again=True)
    if not view.sources:
        yield _at(view, "a view has at least one source")
    if not view.key_columns:
        yield _at(view, "a view has at least one key or a window")
    window = (view.window,) if view.window else ()
    yield from _names((*view.keys, *window, *view.measures, *view.shown), "column")
    yield from _names(view.checks, "check")
    if view.window is not None:
        yield from _window(view.window)
    for key in view.keys:
        yield from _column(key, key.type)
    for measure in view.measures:
        yield from _measure(measure)
    yield from _exploded(view, topics)


def _window(window: Window) -> Iterator[Mistake]:
    if window.size < 1 or window.pane < 1:
        yield _at(window, "size and hop are at least 1 millisecond")
    elif window.size % window.pane:
        yield _at(window, f"hop {window.pane} does not divide size {window.size}")
    elif window.copies > MOST_COPIES:
        yield _at(window, f"every event would be in {window.copies} windows; at most {MOST_COPIES}")


def _measure(measure: Measure) -> Iterator[Mistake]:
    if not isinstance(measure, _MEASURES):
        yield _at(measure, f"measures are Count, Sum, Min, Max, Latest and First, not {type(measure).__name__}")
        return
    if not measure.of and not isinstance(measure, Count):
        yield _at(measure, "it needs an expression")
    if isinstance(measure, Sum) and not 0 <= measure.scale <= 18:
        yield _at(measure, "scale is from 0 to 18")
    if isinstance(measure, Min | Max | Latest):
        yield from _column(measure, measure.type)


def _column(part: Any, kind: str) -> Iterator[Mistake]:
    if kind not in COLUMN_TYPES and not _decimal(kind):
        yield _at(part, f"type {kind!r} is none of {', '.join(COLUMN_TYPES)}, decimal(p,s)")


def _exploded(view: View, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    if view.explode is None:
        return
    yield from _name(view.explode, view.explode.name)
    for source in view.sources:
        taken = {field.name for field in topics[source].fields} if source in topics else set()
        if view.explode.name in taken | {EVENT_TIME}:
            yield _at(view.explode, f"topic {source!r} has a field {view.explode.name!r} already")
