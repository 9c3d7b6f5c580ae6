"""Validation rules of a topic, in reporting order.

A rule applies only where its result has a meaning: not to a field of unreadable JSON, and not to fields that are wrong
themselves. So the first broken rule is always reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.decoding.field_types import error_of
from core.decoding.record_key_text import is_keyed_by_record, key_text
from core.event_columns import DROPPED_COPY
from core.record_keys import bad_key_rule
from core.sealed_topic import ERASED, ERASED_RULE, is_keyed_by_subject
from core.topic import EVENT_TIME, Json, Topic

ORIGINAL_DECODES = "_original_decodes"  # column: whether the original of a redriven copy decodes
BYTES_ERROR = "_bytes_error"  # column: the first rule that the bytes break
# Columns of a record that a rule may name: a redriven copy's original has only these.
_OF_RECORD = ("_key", "_value", "_timestamp")
_KEY_RULES = ("null_key", "bad_utf8_key", "bad_key")  # the value of a record that breaks only these can be read


@dataclass(frozen=True)
class DecodeRule:
    """A rule over the columns of decoding: whether a record breaks it, and whether the rule applies to the record."""

    name: str
    broken: Column
    applies: Column


def rule_columns(topic: Topic) -> tuple[str, ...]:
    """The columns that a rule of the topic may name: its fields, and columns of the record."""
    return (*(field.name for field in topic.fields), *_OF_RECORD)


def byte_rules(topic: Topic) -> list[DecodeRule]:
    """Rules for the bytes of a record, before anything is parsed."""
    value = fn.col("_value").cast("string")
    broken_by = {} if topic.changelog else {"null_value": fn.col("_value").isNull()}
    broken_by |= {"too_long": fn.octet_length("_value") > topic.max_bytes, "bad_utf8": ~fn.is_valid_utf8(value)}
    broken_by |= {"null_key": fn.col("_key").isNull()} if topic.key is not None else {}
    if topic.changelog:
        broken_by[bad_key_rule(topic.key_encoding)] = fn.col("_key").isNotNull() & key_text(topic).isNull()
    return [DecodeRule(name, broken, fn.lit(True)) for name, broken in broken_by.items()]


def value_readable() -> Column:
    """Whether the value is valid text, whatever the key is."""
    return fn.col(BYTES_ERROR).isNull() | fn.col(BYTES_ERROR).isin(*_KEY_RULES)


def deletes() -> Column:
    """Whether a record of a changelog deletes its key."""
    return fn.col("_value").isNull()


def content_rules(topic: Topic) -> list[DecodeRule]:
    """Rules for a record whose bytes were checked: the first broken byte rule, then all rules for its content."""
    return [DecodeRule("", fn.col(BYTES_ERROR).isNotNull(), fn.lit(True)), *_rules_after_bytes(topic)]


def all_rules(topic: Topic) -> list[DecodeRule]:
    """Every rule, to decide only whether a record is valid."""
    return [_copy_rule(), *content_rules(topic)]


def _rules_after_bytes(topic: Topic) -> list[DecodeRule]:
    has_value = ~deletes() if topic.changelog else fn.lit(True)  # a delete cannot break rules for the value
    readable = value_readable() & fn.col("_readable")
    versioned = readable & fn.col("_version").isNotNull()
    wrong = {f.name: error_of(f, fn.col(f"_text_{f.name}"), fn.col(f"_typed_{f.name}")) for f in topic.fields}
    rules = [
        DecodeRule(
            "not_json" if isinstance(topic.format, Json) else "no_match",
            has_value & ~fn.col("_readable"),
            value_readable(),
        ),
        DecodeRule("unknown_version", has_value & fn.col("_version").isNull(), readable),
    ]
    for name, broken in wrong.items():
        if topic.changelog and name == topic.key:
            applies = key_text(topic).isNotNull() & (deletes() | fn.lit(is_keyed_by_record(topic)) | versioned)
            rules.append(DecodeRule(f"field_{name}", broken, applies))
        else:
            rules.append(DecodeRule(f"field_{name}", has_value & broken, versioned))
    timeless = fn.col("_time").isNull()
    rules.append(DecodeRule(f"field_{EVENT_TIME}", timeless, _time_rule_applies(topic, versioned, wrong)))
    for rule in topic.rules:
        if rule.name == ERASED and is_keyed_by_subject(topic):  # a delete, which has no value, is about the person too
            rules.append(DecodeRule(ERASED_RULE, key_is_erased(topic), fn.lit(True)))
            continue
        broken = has_value & ~fn.coalesce(fn.expr(rule.sql), fn.lit(False))
        inputs_wrong = [wrong[name] for name in wrong if _mentions(rule.sql, name)]
        inputs_wrong += [timeless] if _mentions(rule.sql, EVENT_TIME) else []
        rules.append(DecodeRule(f"rule_{rule.name}", broken, versioned & ~reduce(or_, inputs_wrong, fn.lit(False))))
    return rules


def key_is_erased(topic: Topic) -> Column:
    """Whether the key is the pseudonym of an erased person."""
    erasure = next((rule for rule in topic.rules if rule.name == ERASED), None)
    if erasure is None or not is_keyed_by_subject(topic):
        return fn.lit(False)
    return ~fn.coalesce(fn.expr(erasure.sql), fn.lit(True))


def first_broken(rules: Iterable[DecodeRule]) -> Column:
    """Name of the first broken rule, else null."""
    first, *rest = rules
    return reduce(lambda case, rule: case.when(rule.broken, rule.name), rest, fn.when(first.broken, first.name))


def broken_rules(topic: Topic) -> Column:
    """The names of all rules that a record breaks, between commas. It is costly: use it for bad records only."""
    rules = [_copy_rule(), *byte_rules(topic), *_rules_after_bytes(topic)]
    return fn.concat_ws(",", *(fn.when(rule.applies & rule.broken, rule.name) for rule in rules))


def _copy_rule() -> DecodeRule:
    return DecodeRule(DROPPED_COPY, fn.col(ORIGINAL_DECODES), fn.lit(True))


def _time_rule_applies(topic: Topic, versioned: Column, wrong: dict[str, Column]) -> Column:
    """Whether a missing event time is reported itself: not if its field is reported as wrong."""
    if topic.event_time is None:
        return fn.lit(True)
    field_is_right = versioned & ~wrong[topic.event_time]
    return deletes() | field_is_right if topic.changelog else field_is_right


def _mentions(sql: str, name: str) -> bool:
    """Whether a rule names a column exactly: in another case, the rule counts as broken with the field."""
    return re.search(rf"\b{name}\b", sql) is not None
