"""Writes the topic file of a guess."""

from __future__ import annotations

import re

from core.topic import Topic
from flows.new_topic.definition_text import call, comment, exploded, python_literal
from flows.new_topic.field_guesses import FieldGuess
from flows.new_topic.field_names import sql_name
from flows.new_topic.guesses import TopicGuess
from flows.new_topic.sample_file import SampleFile

_SIMPLE = re.compile(r"[A-Za-z0-9_.-]{1,20}")  # values that a commented rule may list
_FEW_VALUES = 6


def topic_text(guess: TopicGuess, sample: SampleFile, file_name: str) -> str:
    """The Python text of the topic file. ``file_name`` of the sample appears in its first line."""
    count = len(sample.records)
    key = [f"key={python_literal(guess.key.name)}"] if guess.key else []
    arguments = [
        python_literal(guess.name),
        f"comment={python_literal(f'Records of {guess.name}')}",
        "partitions=4",
        *_key_comment(guess, count),
        *key,
        comment(f"A guess: {guess.event_time.observed}", 4),
        f"event_time={python_literal(guess.event_time.name)}",
        f"format={_format(guess)}",
        *_max_bytes(sample),
        f"fields={exploded('', [line for field in guess.fields for line in _field(field, count)], 4)}",
        comment("Every record of the sample keeps these rules. Remove the # of those that every record must keep.", 4),
        f"rules={_rules(guess)}",
    ]
    origin = f"`lk init` guessed this file from {count:,} records of {_shown(file_name)}."
    return (
        f'"""Records of {guess.name}.\n\n{origin}\n"""\n\n'
        "from core.topic import Field, Json, Rule, Topic, Version  # noqa: F401\n\n"
        f"TOPIC = {exploded('Topic', arguments, 0)}\n"
    )


def _shown(file_name: str) -> str:
    return file_name if re.fullmatch(r"[\w.-]{1,40}", file_name, re.ASCII) else "a file"


def _key_comment(guess: TopicGuess, count: int) -> list[str]:
    if guess.key is None:
        return [comment("No field can group the records, so there is no key", 4)]
    return [comment(f"A guess: {guess.key.distinct:,} different values in {count:,} records", 4)]


def _format(guess: TopicGuess) -> str:
    names = call("", [python_literal(name) for name in guess.json_names], 16, before="names=")
    upcasts = [(field.name, sql) for field in guess.fields if (sql := _upcast(field))]
    arguments = ["1", names]
    if upcasts:
        lines = [f"{' ' * 20}{python_literal(name)}: {python_literal(sql)},\n" for name, sql in upcasts]
        arguments.append("upcast={\n" + "".join(lines) + " " * 16 + "}")
    versions = call("", [call("Version", arguments, 12)], 8, before="versions=")
    return exploded("Json", [versions, *_version_name(guess)], 4)


def _upcast(field: FieldGuess) -> str | None:
    """Spark SQL for a field that is not the text of the member of its name; None where it is."""
    name = sql_name(field.json_name)
    upcast = field.time.upcast(name) if field.time else None
    return upcast or (name if field.json_name != field.name else None)


def _version_name(guess: TopicGuess) -> list[str]:
    """Another name for the number of a version, where the records use ``version`` for something else."""
    used = {name.lower() for name in (*guess.json_names, *guess.left_out)}
    if "version" not in used:
        return []
    candidates = ("schema_version", *(f"schema_version_{number}" for number in range(2, len(used) + 3)))
    return [f"version_name={python_literal(next(name for name in candidates if name not in used))}"]


def _max_bytes(sample: SampleFile) -> list[str]:
    longest = max(len(record.text.encode()) for record in sample.records)
    return [f"max_bytes={1 << (2 * longest - 1).bit_length():_}"] if longest > Topic.max_bytes // 2 else []


def _field(field: FieldGuess, count: int) -> list[str]:
    """A comment with what the sample showed, and the field."""
    share = "every record" if field.required else f"{field.seen:,} of {count:,} records"
    arguments = [python_literal(field.name)]
    if field.type != "string":
        arguments.append(python_literal(field.type))
    if not field.required:
        arguments.append("required=False")
    if field.time and field.time.time_format:
        arguments.append(f"time_format={python_literal(field.time.time_format)}")
    if field.absent is not None:
        arguments.append(f"absent={python_literal(field.absent)}")
    arguments.append(f"comment={python_literal(field.json_name)}")
    return [comment(f"{share}; {field.observed}", 8), call("Field", arguments, 8)]


def _rules(guess: TopicGuess) -> str:
    rules = [rule for field in guess.fields if (rule := _rule(field))]
    return exploded("", [comment(rule, 8) for rule in rules if len(rule) < 105], 4) if rules else "()"


def _rule(field: FieldGuess) -> str | None:
    """A rule over the range or the few values of a field."""
    values = sorted(set(field.values))
    few = 2 <= len(values) <= _FEW_VALUES and len(values) < field.seen
    if field.limits:
        condition = f"{field.name} between {field.limits[0]} and {field.limits[1]}"
    elif few and field.type == "string" and not field.is_nested and all(map(_SIMPLE.fullmatch, values)):
        condition = f"{field.name} in ({', '.join(f'{value!r}' for value in values)})"
    else:
        return None
    sql = condition if field.required else f"{field.name} is null or {condition}"
    return f"Rule({python_literal(f'{field.name}_seen')}, {python_literal(sql)}),"
