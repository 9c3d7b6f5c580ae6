"""Declares the good records of a topic for infra/spark/scala/OnePass.scala, which reads them in one pass.

It declares only what both decoders read alike; any other record goes to the plain decoder.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from core.decoding.declared_form import MARKS
from core.decoding.field_types import EARLIEST_MS, LATEST_MS
from core.decoding.record_key_text import is_keyed_by_record
from core.sql_names import mentions
from core.topic import DECIMAL, EVENT_TIME, Field, Json, Lines, Topic, Version

_MOST_DIGITS = 18  # of a number, which fits into a long
_MOST_BYTES = 2**24  # of a value; the parser of the plain decoder has limits of its own above
_NAME_IN_SQL = re.compile(r"(?!(?:null|true|false)\b)[a-z]\w*", re.IGNORECASE | re.ASCII)
_PLAIN_NAME = re.compile(r'[^"\\\x00-\x1f]+')


def declaration(topic: Topic) -> str | None:
    """JSON text; None when no record of the topic can be decoded in one pass."""
    fields = [declared for field in topic.fields if (declared := _field(field)) is not None]
    forms = _forms(topic, topic.format) if isinstance(topic.format, Json) else []
    line = topic.format.pattern if isinstance(topic.format, Lines) else None
    is_covered = len(fields) == len(topic.fields) and (forms or line is not None) and topic.max_bytes <= _MOST_BYTES
    if not is_covered or (topic.changelog and is_keyed_by_record(topic)) or _rule_reads_other_time(topic):
        return None
    names = [field.name for field in topic.fields]
    declared = {
        "max_bytes": topic.max_bytes,
        "needs_key": topic.key is not None,
        "needs_text_key": topic.changelog,
        "event_time": -1 if topic.event_time is None else names.index(topic.event_time),
        "has_deleted": topic.changelog,
        "columns": [number for number, name in enumerate(names) if name != EVENT_TIME],
        "fields": fields,
        "forms": forms,
        "line": line,
    }
    return json.dumps(declared)


def _field(field: Field) -> dict[str, Any] | None:
    """How the text of a field is read; None for a combination that is not covered."""
    declared: dict[str, Any] = {"absent": field.absent, "pattern": field.pattern, "required": field.required}
    has_limits = field.minimum is not None or field.maximum is not None
    if field.type in ("bigint", "string", "boolean"):
        if field.type == "bigint":
            return _number(field, declared | {"kind": "bigint"}, _MOST_DIGITS, 0)
        return (
            None
            if has_limits or (field.type == "boolean" and field.pattern is not None)
            else declared | {"kind": field.type}
        )
    decimal = DECIMAL.match(field.type)
    if decimal:
        precision, scale = int(decimal[1]), int(decimal[2])
        return _number(field, declared | {"kind": "decimal"}, precision, scale)
    if has_limits:
        return None
    declared |= {"minimum": EARLIEST_MS, "maximum": LATEST_MS - 1, "precision": _MOST_DIGITS, "scale": 0}
    if field.time_format is None:
        return declared | {"kind": "timestamp"}
    return declared | {"kind": "time", "time_format": field.time_format}


def _number(field: Field, declared: dict[str, Any], precision: int, scale: int) -> dict[str, Any] | None:
    largest = 10**precision - 1
    limits = (_unscaled(field.minimum, scale, -largest), _unscaled(field.maximum, scale, largest))
    if precision > _MOST_DIGITS or None in limits:
        return None
    return declared | {"precision": precision, "scale": scale, "minimum": limits[0], "maximum": limits[1]}


def _unscaled(limit: str | None, scale: int, otherwise: int) -> int | None:
    """A limit as an integer of the last digit; None if it has more decimals than the type."""
    if limit is None:
        return otherwise
    value = Decimal(limit).scaleb(scale)
    return max(-(10**_MOST_DIGITS), min(10**_MOST_DIGITS, int(value))) if value == int(value) else None


def _forms(topic: Topic, format: Json) -> list[dict[str, Any]]:
    """The forms of each version whose fields are names of the record; the longer marks are tried first."""
    forms = []
    for version in format.versions:
        readers = _readers(topic, version)
        plain = all(_PLAIN_NAME.fullmatch(name) for name in (format.version_name, *version.names))
        if not readers or not plain or format.version_name in version.names:
            continue
        for between, colon in MARKS:
            stated = "" if version.number == 1 else f'"{format.version_name}"{colon}{version.number}{between}'
            begins = ["{" + stated, *[between] * (len(version.names) - 1)]
            before = [f'{begin}"{name}"{colon}' for begin, name in zip(begins, version.names, strict=True)]
            quoted = [number >= 0 and _is_text(topic.fields[number]) for number in readers]
            forms.append({"before": before, "fields": readers, "quoted": quoted})
    return forms


def _readers(topic: Topic, version: Version) -> list[int] | None:
    """The number of the field that each name of a version gives, or -1; None if a field is computed or missing."""
    if len(set(version.names)) < len(version.names):
        return None
    number_of: dict[str, int] = {}
    for number, field in enumerate(topic.fields):
        name = version.upcast.get(field.name, field.name)
        is_name = field.name not in version.upcast or _NAME_IN_SQL.fullmatch(name)
        if is_name and name in version.names and name not in number_of:
            number_of[name] = number
        elif field.name in version.upcast or name in version.names or field.required:
            return None
    return [number_of.get(name, -1) for name in version.names]


def _is_text(field: Field) -> bool:
    return field.type == "string" or field.time_format is not None


def _rule_reads_other_time(topic: Topic) -> bool:
    """Whether a rule names a field ``event_time`` that is not the event time, which decoded rows do not have."""
    is_other = topic.event_time != EVENT_TIME
    return is_other and any(mentions(rule.sql, EVENT_TIME) for rule in topic.rules)
