"""What sealed fields mean for the decoder of a topic, and mistakes in their declaration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.digest import topic_digest
from core.sealed_topic import ERASED, sealed_topic, subject_field
from core.topic import Field, Json, Lines, Rule, Topic, Version
from core.validation.topic_mistakes import topic_mistakes
from tests.support.instances.sealed_visits import topic

ANN, BOB = "s" + "a" * 32, "s" + "b" * 32
VISITS = topic()


def mistakes(topic: Topic) -> list[str]:
    return [mistake.text for mistake in topic_mistakes(topic)]


def changed(name: str, **changes: Any) -> Topic:
    """The topic with one field declared in another way."""
    fields = [replace(field, **changes) if field.name == name else field for field in VISITS.fields]
    return replace(VISITS, fields=tuple(fields))


def test_a_correct_topic_has_no_mistakes() -> None:
    assert mistakes(VISITS) == []


def test_a_topic_without_sealed_fields_is_unchanged() -> None:
    plain = topic(fields=(Field("person"), Field("cents", "bigint"), Field("at", "timestamp")))
    assert sealed_topic(plain, [ANN]) is plain
    assert subject_field(plain) is None


def test_fields_get_patterns_and_a_record_is_about_one_person() -> None:
    sealed = sealed_topic(VISITS, [])
    assert [field.pattern for field in sealed.fields] == ["s[0-9a-f]{32}", "e[0-9a-f]{64,}", None, None]
    same = "(`mail` IS NULL OR substr(`mail`, 2, 32) = substr(`person`, 2, 32))"
    assert sealed.rules == (Rule("one_subject", same),)


def test_an_erasure_is_a_rule_and_changes_the_decoder() -> None:
    nobody, ann, both = (sealed_topic(VISITS, erased) for erased in ([], [ANN], [BOB, ANN]))
    assert ann.rules[-1] == Rule(ERASED, f"`person` NOT IN ('{ANN}')")
    assert both.rules[-1] == Rule(ERASED, f"`person` NOT IN ('{ANN}', '{BOB}')")
    assert len({topic_digest(decoder) for decoder in (nobody, ann, both)}) == 3
    assert sealed_topic(VISITS, [ANN, BOB]) == both


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (changed("mail", subject="nobody"), "subject 'nobody' must be one field of the topic that names itself"),
        (changed("person", subject=None), "subject 'person' must be one field of the topic that names itself"),
        (changed("person", required=False), "the field with the subject must be required"),
        (changed("mail", pattern="x"), "a field with a subject is encrypted text: a string without pattern and absent"),
        (changed("mail", type="bigint"), "a field with a subject is encrypted text"),
        (replace(VISITS, key="mail"), "the key 'mail' is encrypted"),
        (replace(VISITS, rules=(Rule("erased", "true"),)), "a rule 'erased' of its own"),
        (replace(VISITS, format=Lines("(.)(.)(.)(.)")), "only JSON topics can have fields with a subject"),
        (
            replace(VISITS, format=Json((Version(1, ("person", "mail", "cents", "at"), {"mail": "lower(mail)"}),))),
            "field 'mail' has a subject, so a version can only rename it",
        ),
    ],
)
def test_a_mistake_is_named(wrong: Topic, text: str) -> None:
    assert any(text in mistake for mistake in mistakes(wrong)), mistakes(wrong)
