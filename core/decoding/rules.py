"""The rules that a record keeps to be an event: one table per topic, in the order in which they are told.

A rule is asked only where the answer means something: not of a field of JSON that cannot be read, nor of fields that
are wrong themselves. So the first rule that is broken is always named.
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
from core.decoding.redrive_headers import RULE
from core.topic import EVENT_TIME, Json, Topic

ORIGINAL_DECODES = "_original_decodes"  # of a repaired copy: whether its original decodes
BYTES_ERROR = "_bytes_error"  # the first rule that the bytes break
_OF_KEYS = ("null_key", "bad_utf8_key")  # the value can be read all the same


@dataclass(frozen=True)
class DecodeRule:
    """One rule over what decoding makes of a record: whether it is ``broken``, and whether it is ``asked`` at all."""

    name: str
    broken: Column
    asked: Column


def byte_rules(topic: Topic) -> list[DecodeRule]:
    """What the bytes of a record must keep to before anything is read of them."""
    value, key = (fn.col(name).cast("string") for name in ("_value", "_key"))
    found = {} if topic.changelog else {"null_value": fn.col("_value").isNull()}
    found |= {"too_long": fn.octet_length("_value") > topic.max_bytes, "bad_utf8": ~fn.is_valid_utf8(value)}
    found |= {"null_key": fn.col("_key").isNull()} if topic.key is not None else {}
    found |= {"bad_utf8_key": ~fn.is_valid_utf8(key)} if topic.changelog else {}
    return [DecodeRule(name, broken, fn.lit(True)) for name, broken in found.items()]


def value_readable() -> Column:
    """Whether the value's bytes are text, whatever the key is."""
    return fn.col(BYTES_ERROR).isNull() | fn.col(BYTES_ERROR).isin(*_OF_KEYS)


def deletes() -> Column:
    """Whether a record of a changelog deletes its key."""
    return fn.col("_value").isNull()


def content_rules(topic: Topic) -> list[DecodeRule]:
    """What can be found of a record whose bytes were checked: the first of those, then every rule after them."""
    return [DecodeRule("", fn.col(BYTES_ERROR).isNotNull(), fn.lit(True)), *_content_checks(topic)]


def all_rules(topic: Topic) -> list[DecodeRule]:
    """Every rule of a record, for who wants to know whether one is broken, and not which."""
    return [_copy_check(), *content_rules(topic)]


def _content_checks(topic: Topic) -> list[DecodeRule]:
    told = ~deletes() if topic.changelog else fn.lit(True)  # what a delete cannot break is not asked of it
    readable = value_readable() & fn.col("_readable")
    known = readable & fn.col("_version").isNotNull()
    wrong = {f.name: error_of(f, fn.col(f"_as_{f.name}"), fn.col(f"_is_{f.name}")) for f in topic.fields}
    found = [
        DecodeRule(
            "not_json" if isinstance(topic.format, Json) else "no_match", told & ~fn.col("_readable"), value_readable()
        ),
        DecodeRule("unknown_version", told & fn.col("_version").isNull(), readable),
    ]
    for name, broken in wrong.items():
        if topic.changelog and name == topic.key:
            found.append(DecodeRule(f"field_{name}", broken, _key_is_text() & (deletes() | _own_key(topic) | known)))
        else:
            found.append(DecodeRule(f"field_{name}", told & broken, known))
    timeless = fn.col("_time").isNull()
    found.append(DecodeRule(f"field_{EVENT_TIME}", timeless, _no_time_of_its_own(topic, known, wrong)))
    for rule in topic.rules:
        broken = told & ~fn.coalesce(fn.expr(rule.sql), fn.lit(False))
        used = [wrong[name] for name in wrong if _names(rule.sql, name)]
        used += [timeless] if _names(rule.sql, EVENT_TIME) else []
        found.append(DecodeRule(f"rule_{rule.name}", broken, known & ~reduce(or_, used, fn.lit(False))))
    return found


def first_broken(found: Iterable[DecodeRule]) -> Column:
    """Name of the first rule that is broken, else null."""
    one, *rest = found
    return reduce(lambda case, check: case.when(check.broken, check.name), rest, fn.when(one.broken, one.name))


def broken_rules(topic: Topic) -> Column:
    """The names of all rules that a record breaks, between commas; costly, so to be asked of bad records only."""
    found = [_copy_check(), *byte_rules(topic), *_content_checks(topic)]
    return fn.concat_ws(",", *(fn.when(check.asked & check.broken, check.name) for check in found))


def _copy_check() -> DecodeRule:
    return DecodeRule(RULE, fn.col(ORIGINAL_DECODES), fn.lit(True))


def _key_is_text() -> Column:
    return fn.coalesce(fn.is_valid_utf8(fn.col("_key").cast("string")), fn.lit(False))


def _own_key(topic: Topic) -> Column:
    """Whether the field that is the key is taken from the record's key, of every record."""
    return fn.lit(topic.compacted)


def _no_time_of_its_own(topic: Topic, known: Column, wrong: dict[str, Column]) -> Column:
    """Whether a missing time is more than the wrong field that it would be taken from."""
    if topic.event_time is None:
        return fn.lit(True)
    told = known & ~wrong[topic.event_time]
    return deletes() | told if topic.changelog else told


def _names(sql: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", sql) is not None
