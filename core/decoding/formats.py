"""Bytes become one text per field: JSON objects with versions, and lines with a pattern."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.decoding import json_shape
from core.decoding.json_shape import NUMBER, SEPARATOR
from core.topic import Field, Json, Lines, Topic, Version

# A number that follows a JSON name is put in quotes: Spark's parser would send it through a double.
# What ends a name is never an opening quote: those follow a mark, a space or, inside a string, a backslash.
_NUMBER = rf'"\s*+:\s*+)({NUMBER})(?=[\s,}}\]])'
# Every escape but half of a surrogate pair, which is no character: not all of Spark's parsers refuse it.
_ESCAPE = r"\\(?:[^u]|u(?:(?![dD][89a-fA-F])|[dD][89abAB]..\\u[dD][c-fC-F]))"
_WORD, _ANY = r"(\w", r"([^:{,\[\\\s]"


def field_texts(topic: Topic, frame: DataFrame) -> DataFrame:
    """Adds ``_readable``, ``_version`` (null: unknown) and ``_as_<field>``: the field's text, null when absent.

    Of JSON ``_sure`` too: whether the record matched a declared shape.
    """
    if isinstance(topic.format, Json):
        return _json_texts(topic, topic.format, frame)
    return _line_texts(topic, topic.format, frame)


def pre_validated(topic: Topic, field: Field) -> Column:
    """Whether a field's text in ``texts`` is known to match the field's form."""
    if isinstance(topic.format, Json):
        return json_shape.pre_validated(topic.format, field, fn.col("_sure"))
    return fn.lit(False)


def json_names(json: Json) -> tuple[str, ...]:
    """Every JSON name that some version has, with the version's own; sorted."""
    return tuple(sorted({json.version_name, *(name for version in json.versions for name in version.names)}))


def upcast(version: Version, field: str) -> str:
    """Spark SQL over a version's JSON names that gives the text of a field of today."""
    if field in version.upcast:
        return version.upcast[field]
    return f"`{field}`" if field in version.names else "cast(null as string)"


def _json_texts(topic: Topic, json: Json, frame: DataFrame) -> DataFrame:
    names = json_names(json)
    frame = frame.withColumn("_parts", json_shape.matched_members(topic, json, names))
    found = fn.col("_parts")
    members = [json_shape.text(found, number).alias(name) for number, name in enumerate(names)]
    frame = frame.withColumn("_sure", fn.coalesce(json_shape.matched(found), fn.lit(False)))
    frame = _parsed(frame, names)
    frame = frame.withColumn("_json", fn.when(fn.col("_sure"), fn.struct(*members)).otherwise(fn.col("_parsed")))
    readable = fn.col("_json").isNotNull()
    frame = frame.select("*", readable.alias("_readable"), *(fn.col("_json")[name].alias(name) for name in names))
    numbers = [str(version.number) for version in json.versions]
    given = fn.coalesce(fn.col(f"`{json.version_name}`"), fn.lit("1"))
    frame = frame.withColumn("_version", fn.when(given.isin(numbers), given))
    picked = {f"_as_{field.name}": _picked(json, field.name) for field in topic.fields}
    return frame.withColumns(picked).drop("_parts", "_parsed", "_json", "_text", *names)


def _picked(json: Json, field: str) -> Column:
    """The version's own expression; one that all versions share needs no choice."""
    ways = {version.number: upcast(version, field) for version in json.versions}
    if len(set(ways.values())) == 1:
        return fn.expr(next(iter(ways.values())))
    cases = " ".join(f"when '{number}' then {sql}" for number, sql in ways.items())
    return fn.expr(f"case _version {cases} end")


def _parsed(frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """Adds ``_parsed``: a struct of texts; null where the text matched, or is not one object that says each name once.

    Spark's parser does not look at what follows a value, so the text is parsed in two lists: alone, and before ``{}``.
    One that closes the list itself and goes on makes both equally long; one whose only ``}`` is its end cannot do that.
    """
    ending = _WORD if all(re.search(r"\w\Z", name, re.ASCII) for name in names) else _ANY  # a word's end is quick
    texts = f"struct<{','.join(f'`{name}`:string' for name in names)}>"
    clean = fn.regexp_replace("_text", ending + _NUMBER, '$1"$2"')
    halved = (fn.instr("_text", "\\u") > 0) & (fn.instr(fn.regexp_replace("_text", _ESCAPE, ""), "\\") > 0)
    frame = frame.withColumn("_clean", fn.when(~fn.col("_sure") & ~halved, clean))
    flat = fn.instr("_clean", "}") == fn.length("_clean")
    frame = frame.withColumns({"_alone": _list("]"), "_paired": fn.when(~flat, _list(",{}]"))})
    whole = flat | ((_length("_alone") == 1) & (_length("_paired") == 2))
    frame = frame.withColumn("_parsed", fn.when(whole, fn.try_variant_get("_alone", "$[0]", texts)))
    return frame.drop("_clean", "_alone", "_paired")


def _list(end: str) -> Column:
    return fn.try_parse_json(fn.concat(fn.lit("["), "_clean", fn.lit(end)))


def _length(name: str) -> Column:
    return fn.size(fn.try_variant_get(name, "$", "array<variant>"))


def _line_texts(topic: Topic, lines: Lines, frame: DataFrame) -> DataFrame:
    """The pattern is matched once: it rewrites the line into its groups, which are then split."""
    count = len(topic.fields)
    groups = "".join(f"{SEPARATOR}${n}" for n in range(1, count + 1))
    text = fn.when(fn.instr("_text", SEPARATOR) == 0, fn.col("_text"))
    rewritten = fn.regexp_replace(text, rf"\A(?:{lines.pattern})\z", groups + SEPARATOR)
    frame = frame.withColumn("_parts", fn.split(rewritten, SEPARATOR))
    frame = frame.withColumn("_readable", fn.coalesce(fn.size("_parts") == count + 2, fn.lit(False)))
    part = {f"_as_{field.name}": fn.get("_parts", fn.lit(n)) for n, field in enumerate(topic.fields, 1)}
    return frame.withColumns({"_version": fn.lit("1"), **part}).drop("_parts", "_text")
