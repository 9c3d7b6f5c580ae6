"""Mistakes in the sealed fields of a topic."""

from __future__ import annotations

from collections.abc import Iterator

from core.record_keys import TEXT
from core.sealed_topic import SEALED_RULES, is_plain_name, sealed_fields, subject_field, versions
from core.topic import Field, Json, Topic
from core.validation.mistake import Mistake, mistake_in


def sealed_mistakes(topic: Topic) -> Iterator[Mistake]:
    """Every mistake in the fields that have a subject."""
    declared = [field for field in topic.fields if field.subject is not None]
    if not declared:
        return
    if not isinstance(topic.format, Json):
        yield mistake_in(topic, "only JSON topics can have fields with a subject: producers encrypt them by name")
    subject = subject_field(topic)
    for field in declared:
        yield from _field(topic, field, subject)
    if topic.key in {field.name for field in sealed_fields(topic)}:
        yield mistake_in(topic, f"the key {topic.key!r} is encrypted; use the field with the subject, or another one")
    if subject is not None and topic.key == subject.name and topic.key_encoding != TEXT:
        yield mistake_in(topic, f"the key {topic.key!r} is a pseudonym, which is text: leave out key_encoding")
    for rule in topic.rules:
        if rule.name in SEALED_RULES:
            yield mistake_in(rule, f"a topic with sealed fields has a rule {rule.name!r} of its own")


def _field(topic: Topic, field: Field, subject: Field | None) -> Iterator[Mistake]:
    if subject is None or field.subject != subject.name:
        yield mistake_in(
            field,
            f"subject {field.subject!r} must be one field of the topic that names itself: "
            f"Field({field.subject!r}, subject={field.subject!r})",
        )
        return
    if field.type != "string" or field.pattern is not None or field.absent is not None:
        yield mistake_in(field, "a field with a subject is encrypted text: a string without pattern and absent")
    if field is subject and not field.required:
        yield mistake_in(field, "the field with the subject must be required: no key is known without it")
    for version in versions(topic):
        if not is_plain_name(version, field):
            text = f"field {field.name!r} has a subject, so a version can only rename it"
            yield mistake_in(version, text)
