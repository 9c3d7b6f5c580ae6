"""What the declaration of sealed fields means for a topic's decoder: patterns of their texts, and two rules.

A field with a ``subject`` holds a token (core/sealed_text.py), so no plain text enters the lake. Records of erased
persons break the rule ERASED: like every rule it is part of the decoder's digest, so that an erasure is one more
changed definition, which batch, speed and replay introduce in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from core.sealed_text import PSEUDONYM, TOKEN
from core.topic import Field, Json, Rule, Topic, Version

ERASED = "erased"
ERASED_RULE = f"rule_{ERASED}"  # as decoders report it
ONE_SUBJECT = "one_subject"
SEALED_RULES = (ERASED, ONE_SUBJECT)


def subject_field(topic: Topic) -> Field | None:
    """The field with the pseudonym of the person whom a record is about; None if the topic has no sealed fields."""
    return next((field for field in topic.fields if field.subject == field.name), None)


def is_keyed_by_subject(topic: Topic) -> bool:
    """Whether the record keys of a topic are pseudonyms."""
    subject = subject_field(topic)
    return subject is not None and subject.name == topic.key


def sealed_fields(topic: Topic) -> tuple[Field, ...]:
    """The fields that hold tokens."""
    return tuple(field for field in topic.fields if field.subject not in (None, field.name))


def sealed_topic(topic: Topic, erased: Collection[str]) -> Topic:
    """The topic with the patterns and rules of its sealed fields; ``erased`` are pseudonyms. Others are unchanged."""
    subject = subject_field(topic)
    if subject is None:
        return topic
    fields = tuple(_with_pattern(field) for field in topic.fields)
    return replace(topic, fields=fields, rules=(*topic.rules, *_rules(topic, subject, erased)))


def erased_in(topic: Topic) -> frozenset[str]:
    """The pseudonyms whose records the topic's decoder leaves out."""
    rules = (rule.sql for rule in topic.rules if rule.name == ERASED)
    return frozenset(re.findall(PSEUDONYM, next(rules, "")))


def json_names(version: Version, fields: Collection[Field]) -> dict[str, str]:
    """JSON name -> field, of those fields that a version has."""
    names = {field.name: _renamed(version, field) for field in fields}
    return {name: field for field, name in names.items() if name in version.names}


def is_plain_name(version: Version, field: Field) -> bool:
    """Whether a version takes the field's text as it is, under its own or another name."""
    return field.name not in version.upcast or _renamed(version, field) in version.names


def versions(topic: Topic) -> tuple[Version, ...]:
    """The schema versions of a JSON topic; none of another."""
    return topic.format.versions if isinstance(topic.format, Json) else ()


def _renamed(version: Version, field: Field) -> str:
    return version.upcast.get(field.name, field.name).strip("`")


def _with_pattern(field: Field) -> Field:
    if field.subject is None:
        return field
    return replace(field, pattern=PSEUDONYM if field.subject == field.name else TOKEN)


def _rules(topic: Topic, subject: Field, erased: Collection[str]) -> list[Rule]:
    person = f"substr(`{subject.name}`, 2, 32)"
    same = [f"(`{field.name}` IS NULL OR substr(`{field.name}`, 2, 32) = {person})" for field in sealed_fields(topic)]
    rules = [Rule(ONE_SUBJECT, " AND ".join(same))] if same else []
    if erased:
        listed = ", ".join(f"'{pseudonym}'" for pseudonym in sorted(erased))
        rules.append(Rule(ERASED, f"`{subject.name}` NOT IN ({listed})"))
    return rules
