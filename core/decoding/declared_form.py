"""Reads JSON records of the declared form with a regular expression, at a third of the cost of a parser.

The form: the names in the declared order, strings without escapes, values that match the fields' patterns, and a space
after every mark or after none. Most producers write exactly that. Any other record (other order, escapes, nulls, more
names) does not match and is parsed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.decoding.field_types import text_pattern
from core.topic import Field, Json, Topic, Version

NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
SEPARATOR = "\x01"  # valid JSON never contains it unescaped
_STRING = r'"([^"\\\x00-\x1f]++)"'  # never empty: an empty text stands for a name that the version does not have
# Patterns without quotes, backslashes and groups: they can stand between the quotes of a string.
_STRICT = re.compile(r"(?:[\w|?*+]|\[(?:A-Z|a-z|0-9|[\w.])+\]|\{[0-9,]+\})+", re.ASCII)
MARKS = ((", ", ": "), (",", ":"))  # between members, and after names; the longer is tried first
_EITHER = rf"(?:{_STRING}|({NUMBER}))"


def matched_members(topic: Topic, json: Json, names: tuple[str, ...]) -> Column:
    """An array: where ``_text`` has a declared form, an empty text followed by the text of each name.

    The first characters of a record decide which form's pattern is tried.
    """
    forms = [_form(topic, json, version, names, *marks) for version in json.versions for marks in MARKS]
    text = fn.col("_text")
    cases = [(fn.startswith(text, fn.lit(begin)), fn.regexp_replace(text, *how)) for begin, *how in forms]
    first, *rest = cases
    return fn.split(reduce(lambda case, pair: case.when(*pair), rest, fn.when(*first)), SEPARATOR)


def matched(parts: Column) -> Column:
    """Whether ``parts`` of ``matched_members`` hold texts; a record that did not match still begins with its brace."""
    return fn.get(parts, fn.lit(0)) == ""


def text(parts: Column, number: int) -> Column:
    """Text of the name with this number in ``parts``; null when the record's version does not have it."""
    return fn.nullif(fn.get(parts, fn.lit(number + 1)), fn.lit(""))


def _form(
    topic: Topic, json: Json, version: Version, names: tuple[str, ...], between: str, colon: str
) -> tuple[str, str, str]:
    """The first characters of a version's records, their pattern, and its replacement: the texts between separators."""
    members = _members(topic, json, version)
    groups: dict[str, list[str]] = defaultdict(list)
    group_names = [name for name, value in members.items() for _ in range(re.compile(value).groups)]
    for number, name in enumerate(group_names, 1):
        groups[name].append(f"${number}")
    pattern = between.join(f'"{re.escape(name)}"{colon}{value}' for name, value in members.items())
    texts = ("".join(groups[name]) for name in names)
    stated = "" if version.number == 1 else f"{version.number}{between}"
    begin = f'{{"{next(iter(members))}"{colon}{stated}'
    return begin, rf"\A\{{{pattern}\}}\z", SEPARATOR + SEPARATOR.join(texts) + SEPARATOR


def _members(topic: Topic, json: Json, version: Version) -> dict[str, str]:
    """Name -> pattern of its value. The version number comes first; records of version 1 have none."""
    stated = {} if version.number == 1 else {json.version_name: f"({version.number})"}
    fields = {field.name: field for field in topic.fields if field.name not in version.upcast}
    return stated | {name: _value(fields.get(name)) for name in version.names}


def pre_validated(json: Json, field: Field, matched: Column) -> Column:
    """Whether a record matched a form that includes the field's ``text_pattern``: no second check is needed."""
    if _pattern_in_form(field) is None:
        return fn.lit(False)
    upcast = [str(version.number) for version in json.versions if field.name in version.upcast]
    return matched & ~fn.col("_version").isin(upcast) if upcast else matched


def _value(field: Field | None) -> str:
    if field is None:
        return _EITHER
    pattern = _pattern_in_form(field)
    if field.type == "boolean":
        return "(true|false)"
    if field.type == "string" or field.time_format:
        return _STRING if pattern is None else rf'"((?!")(?:{pattern}))"'
    return rf"((?!-?0[0-9]){pattern})"


def _pattern_in_form(field: Field) -> str | None:
    """The field's ``text_pattern`` if the form can include it, else None: then any text of the type matches."""
    pattern = text_pattern(field)
    if pattern is not None and field.type == "string" and not _STRICT.fullmatch(pattern):
        return None
    return pattern
