"""Splits records into one text per field: JSON objects with versions, and lines with a pattern."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.decoding import declared_form
from core.decoding.declared_form import NUMBER, SEPARATOR
from core.sql_names import spliced
from core.topic import Field, Json, Lines, Topic, Version

# Puts a number that follows a JSON name in quotes, because Spark's parser would convert it to a double.
# The quote must end a name: an opening quote follows a mark, a space or, inside a string, a backslash.
_NUMBER = rf'"\s*+:\s*+)({NUMBER})(?=[\s,}}\]])'
# Any escape except half of a surrogate pair, which is not a character; only some of Spark's parsers refuse it.
_ESCAPE = r"\\(?:[^u]|u(?:(?![dD][89a-fA-F])|[dD][89abAB]..\\u[dD][c-fC-F]))"
_WORD, _ANY = r"(\w", r"([^:{,\[\\\s]"


def field_texts(topic: Topic, frame: DataFrame) -> DataFrame:
    """Adds ``_readable``, ``_version`` (null: unknown) and ``_text_<field>``: the field's text, null when absent.

    For JSON it also adds ``_pre_validated``: whether the record matched a declared form.
    """
    if isinstance(topic.format, Json):
        return _json_texts(topic, topic.format, frame)
    return _line_texts(topic, topic.format, frame)


def pre_validated(topic: Topic, field: Field) -> Column:
    """Whether the text of a field already matched the field's ``text_pattern``."""
    if isinstance(topic.format, Json):
        return declared_form.pre_validated(topic.format, field, fn.col("_pre_validated"))
    return fn.lit(False)


def json_names(json: Json) -> tuple[str, ...]:
    """All JSON names of all versions and the name of the version number, sorted."""
    return tuple(sorted({json.version_name, *(name for version in json.versions for name in version.names)}))


def upcast(version: Version, field: str) -> str:
    """Spark SQL over a version's JSON names for the text of a field."""
    if field in version.upcast:
        return version.upcast[field]
    return f"`{field}`" if field in version.names else "cast(null as string)"


def _json_texts(topic: Topic, json: Json, frame: DataFrame) -> DataFrame:
    names = json_names(json)
    frame = frame.withColumn("_parts", declared_form.matched_members(topic, json, names))
    parts = fn.col("_parts")
    members = [declared_form.text(parts, number).alias(name) for number, name in enumerate(names)]
    frame = frame.withColumn("_pre_validated", fn.coalesce(declared_form.matched(parts), fn.lit(False)))
    frame = _parsed(frame, names)
    frame = frame.withColumn(
        "_json", fn.when(fn.col("_pre_validated"), fn.struct(*members)).otherwise(fn.col("_parsed"))
    )
    readable = fn.col("_json").isNotNull()
    frame = frame.select("*", readable.alias("_readable"), *(fn.col("_json")[name].alias(name) for name in names))
    numbers = [str(version.number) for version in json.versions]
    version = fn.coalesce(fn.col(f"`{json.version_name}`"), fn.lit("1"))
    frame = frame.withColumn("_version", fn.when(version.isin(numbers), version))
    fields = {f"_text_{field.name}": _upcast_text(json, field.name) for field in topic.fields}
    return frame.withColumns(fields).drop("_parts", "_parsed", "_json", "_text", *names)


def _upcast_text(json: Json, field: str) -> Column:
    """The text of a field by the expression of the record's version."""
    upcasts = {version.number: upcast(version, field) for version in json.versions}
    if len(set(upcasts.values())) == 1:
        return fn.expr(next(iter(upcasts.values())))
    cases = " ".join(f"when '{number}' then {spliced(sql)}" for number, sql in upcasts.items())
    return fn.expr(f"case _version {cases} end")


def _parsed(frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """Adds ``_parsed``: a struct of texts; null where a form matched, or the text is not one object with unique names.

    Spark's parser ignores what follows a value, so the text is parsed in two lists: alone, and followed by ``{}``. If
    text after the object closes the list, both lists have the same length. A text whose only ``}`` is its end needs no
    second list.
    """
    ending = _WORD if all(re.search(r"\w\Z", name, re.ASCII) for name in names) else _ANY  # \w is faster
    texts = f"struct<{','.join(f'`{name}`:string' for name in names)}>"
    clean = fn.regexp_replace("_text", ending + _NUMBER, '$1"$2"')
    half_surrogate = (fn.instr("_text", "\\u") > 0) & (fn.instr(fn.regexp_replace("_text", _ESCAPE, ""), "\\") > 0)
    frame = frame.withColumn("_clean", fn.when(~fn.col("_pre_validated") & ~half_surrogate, clean))
    not_nested = fn.instr("_clean", "}") == fn.length("_clean")
    frame = frame.withColumns({"_alone": _list("]"), "_paired": fn.when(~not_nested, _list(",{}]"))})
    one_object = not_nested | ((_length("_alone") == 1) & (_length("_paired") == 2))
    frame = frame.withColumn("_parsed", fn.when(one_object, fn.try_variant_get("_alone", "$[0]", texts)))
    return frame.drop("_clean", "_alone", "_paired")


def _list(end: str) -> Column:
    return fn.try_parse_json(fn.concat(fn.lit("["), "_clean", fn.lit(end)))


def _length(name: str) -> Column:
    return fn.size(fn.try_variant_get(name, "$", "array<variant>"))


def _line_texts(topic: Topic, lines: Lines, frame: DataFrame) -> DataFrame:
    """Matches the pattern once: rewrites the line into its groups with separators, and splits them."""
    count = len(topic.fields)
    groups = "".join(f"{SEPARATOR}${n}" for n in range(1, count + 1))
    text = fn.when(fn.instr("_text", SEPARATOR) == 0, fn.col("_text"))
    rewritten = fn.regexp_replace(text, rf"\A(?:{lines.pattern})\z", groups + SEPARATOR)
    frame = frame.withColumn("_parts", fn.split(rewritten, SEPARATOR))
    frame = frame.withColumn("_readable", fn.coalesce(fn.size("_parts") == count + 2, fn.lit(False)))
    texts = {f"_text_{field.name}": fn.get("_parts", fn.lit(n)) for n, field in enumerate(topic.fields, 1)}
    return frame.withColumns({"_version": fn.lit("1"), **texts}).drop("_parts", "_text")
