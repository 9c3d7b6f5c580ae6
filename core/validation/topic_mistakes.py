"""Mistakes in a topic that can be found without Spark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from core.event_columns import DELETED
from core.record_keys import KEY_ENCODINGS, TEXT
from core.topic import EVENT_TIME, FIELD_TYPES, JSON_NAME, JSON_NAME_RULE, Field, Json, Lines, Topic, Version
from core.validation.mistake import (
    Mistake,
    column_names,
    group_mistake,
    is_decimal,
    mistake_in,
    name_mistakes,
    type_mistake,
)
from core.validation.sealed_mistakes import sealed_mistakes


def topic_mistakes(topic: Topic) -> Iterator[Mistake]:
    """Every mistake of a topic."""
    yield from name_mistakes(topic, topic.name)
    yield from column_names(topic.fields, "field")
    yield from column_names(topic.rules, "rule")
    by_name = {field.name: field for field in topic.fields}
    if not topic.fields:
        yield mistake_in(topic, "a topic needs at least one field")
    if topic.partitions < 1 or topic.max_bytes < 1:
        yield mistake_in(topic, "partitions and max_bytes must be at least 1")
    if not 0 <= topic.most_quarantined <= 1:
        yield mistake_in(topic, f"most_quarantined is a share from 0 to 1, not {topic.most_quarantined}")
    if topic.key is not None and topic.key not in by_name:
        yield mistake_in(topic, f"key {topic.key!r} is not a field")
    yield from _key_encoding(topic, by_name.get(topic.key or ""))
    if topic.changelog and topic.key is None:
        yield mistake_in(topic, "a changelog needs a key: a record without a value deletes its key")
    if topic.changelog and DELETED in by_name:
        yield mistake_in(by_name[DELETED], f"a changelog has a column {DELETED!r} of its own; choose another name")
    if topic.compacted and not (topic.changelog and topic.append_time and topic.event_time is None):
        yield mistake_in(
            topic,
            "a compacted topic must be a changelog with append_time and without event_time: "
            "the last record of a key must be its latest event",
        )
    if topic.event_time is not None and getattr(by_name.get(topic.event_time), "type", None) != "timestamp":
        yield mistake_in(topic, f"event_time {topic.event_time!r} is not a timestamp field")
    if EVENT_TIME in by_name and topic.event_time != EVENT_TIME:
        yield mistake_in(by_name[EVENT_TIME], f"a field named {EVENT_TIME!r} must be the topic's event_time")
    for field in topic.fields:
        yield from _field(field)
    yield from sealed_mistakes(topic)
    yield from _json(topic, topic.format) if isinstance(topic.format, Json) else _lines(topic, topic.format)


def _key_encoding(topic: Topic, key: Field | None) -> Iterator[Mistake]:
    if topic.key_encoding == TEXT:
        return
    encoding = KEY_ENCODINGS.get(topic.key_encoding)
    if encoding is None:
        yield mistake_in(
            topic, f"key_encoding {topic.key_encoding!r} must be one of {', '.join([TEXT, *KEY_ENCODINGS])}"
        )
    elif topic.key is None:
        yield mistake_in(topic, "a topic without a key has no key_encoding")
    elif key is not None and key.type not in encoding.types:
        types = " or ".join(encoding.types)
        yield mistake_in(key, f"a key in the encoding {topic.key_encoding} must be a {types}, not a {key.type}")


def _field(field: Field) -> Iterator[Mistake]:
    if mistake := type_mistake(field, field.type, FIELD_TYPES):
        yield mistake
        return
    if field.time_format is not None and field.type != "timestamp":
        yield mistake_in(field, "time_format is only for timestamps")
    for limit in (field.minimum, field.maximum):
        if limit is not None and not (field.type == "bigint" or is_decimal(field.type)):
            yield mistake_in(field, "minimum and maximum are only for bigint and decimal")
        elif limit is not None and not _number(limit, field.type):
            yield mistake_in(field, f"limit {limit!r} is not a {field.type}")


def _number(text: str, kind: str) -> bool:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return False
    scale = 0 if kind == "bigint" else int(kind[:-1].split(",")[1])
    return value.is_finite() and value == round(value, scale)


def _json(topic: Topic, json: Json) -> Iterator[Mistake]:
    if not json.versions:
        yield mistake_in(topic, "a JSON topic needs at least one version")
    for number, times in Counter(version.number for version in json.versions).items():
        if times > 1:
            yield Mistake("Version", str(number), f"version {number} is defined twice", again=True)
    spellings: dict[str, str] = {}
    for version in json.versions:
        yield from _version(topic, version)
        for name in (json.version_name, *version.names):
            if not JSON_NAME.match(name):
                yield mistake_in(version, f"JSON name {name!r} must {JSON_NAME_RULE}")
            if spellings.setdefault(name.lower(), name) != name:
                yield mistake_in(version, f"JSON names {name!r} and {spellings[name.lower()]!r} differ only in case")


def _version(topic: Topic, version: Version) -> Iterator[Mistake]:
    if version.number < 1:
        yield mistake_in(version, "version numbers start at 1")
    for name in sorted({name for name in version.names if version.names.count(name) > 1}):
        yield mistake_in(version, f"name {name!r} twice")
    names = {field.name for field in topic.fields}
    for name in version.upcast:
        if name not in names:
            yield mistake_in(version, f"upcast of {name!r}, which is not a field")
    for field in topic.fields:
        if field.required and field.name not in version.upcast and field.name not in version.names:
            yield mistake_in(version, f"required field {field.name!r} is neither in names nor in upcast")


def _lines(topic: Topic, lines: Lines) -> Iterator[Mistake]:
    try:
        groups = re.compile(lines.pattern).groups
    except re.error:
        return  # Java's syntax has more than Python's; the check with Spark covers it
    if groups != len(topic.fields):
        yield group_mistake(groups, len(topic.fields))
