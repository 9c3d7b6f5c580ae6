"""JSON records in the one shape that their version declares: a pattern reads them, at a third of a parser's cost.

That is: the names in the declared order, strings without escapes, numbers as the field wants them, a space after each
mark or after none; most producers write nothing else. Whatever differs (other order, escapes, nulls, more names) does
not match, and is parsed.
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
SEPARATOR = "\x01"  # no JSON text holds it as it is
_STRING = r'"([^"\\\x00-\x1f]++)"'  # not empty: that is how a name which the version does not have looks
# Patterns in which no quote, backslash or group can hide: they may stand between the quotes of a string.
_STRICT = re.compile(r"(?:[\w|?*+]|\[(?:A-Z|a-z|0-9|[\w.])+\]|\{[0-9,]+\})+", re.ASCII)
_MARKS = ((", ", ": "), (",", ":"))  # what producers put between members and after names; the longer is tried first
_EITHER = rf"(?:{_STRING}|({NUMBER}))"


def matched_members(topic: Topic, json: Json, names: tuple[str, ...]) -> Column:
    """An array of texts. Where ``_text`` has a declared shape: an empty one, then that of each name.

    The beginning of a text tells the one pattern that it may match.
    """
    shapes = [_shape(topic, json, version, names, *marks) for version in json.versions for marks in _MARKS]
    text = fn.col("_text")
    cases = [(fn.startswith(text, fn.lit(begin)), fn.regexp_replace(text, *how)) for begin, *how in shapes]
    first, *rest = cases
    return fn.split(reduce(lambda case, pair: case.when(*pair), rest, fn.when(*first)), SEPARATOR)


def matched(found: Column) -> Column:
    """Whether these ``parts`` have the texts of names: what did not match still begins with its brace."""
    return fn.get(found, fn.lit(0)) == ""


def text(found: Column, number: int) -> Column:
    """Text of the name with this number in ``parts``; null when the record's version does not have it."""
    return fn.nullif(fn.get(found, fn.lit(number + 1)), fn.lit(""))


def _shape(
    topic: Topic, json: Json, version: Version, names: tuple[str, ...], between: str, colon: str
) -> tuple[str, str, str]:
    """How a version's records begin, what one must match, and what to put for it: its texts between separators."""
    members = _members(topic, json, version)
    groups: dict[str, list[str]] = defaultdict(list)
    homes = [name for name, value in members.items() for _ in range(re.compile(value).groups)]
    for number, name in enumerate(homes, 1):
        groups[name].append(f"${number}")
    pattern = between.join(f'"{re.escape(name)}"{colon}{value}' for name, value in members.items())
    texts = ("".join(groups[name]) for name in names)
    stated = "" if version.number == 1 else f"{version.number}{between}"
    begin = f'{{"{next(iter(members))}"{colon}{stated}'
    return begin, rf"\A\{{{pattern}\}}\z", SEPARATOR + SEPARATOR.join(texts) + SEPARATOR


def _members(topic: Topic, json: Json, version: Version) -> dict[str, str]:
    """Name -> pattern of its value; a record says its version first, and need not when that is 1."""
    stated = {} if version.number == 1 else {json.version_name: f"({version.number})"}
    fields = {field.name: field for field in topic.fields if field.name not in version.upcast}
    return stated | {name: _value(fields.get(name)) for name in version.names}


def pre_validated(json: Json, field: Field, matched: Column) -> Column:
    """Whether the shape that a record matched holds the field to its ``form``, so that nobody must look again."""
    if _held(field) is None:
        return fn.lit(False)
    made = [str(version.number) for version in json.versions if field.name in version.upcast]
    return matched & ~fn.col("_version").isin(made) if made else matched


def _value(field: Field | None) -> str:
    if field is None:
        return _EITHER
    held = _held(field)
    if field.type == "boolean":
        return "(true|false)"
    if field.type == "string" or field.time_format:
        return _STRING if held is None else rf'"((?!")(?:{held}))"'
    return rf"((?!-?0[0-9]){held})"


def _held(field: Field) -> str | None:
    """The form that the shape holds a field to; None when it takes any text of the field's kind."""
    wanted = text_pattern(field)
    if wanted is not None and field.type == "string" and not _STRICT.fullmatch(wanted):
        return None
    return wanted
