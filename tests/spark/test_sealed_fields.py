"""The decoder takes pseudonyms and tokens of one person, and leaves erased persons out, in one pass and plainly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from core.decoding.decode import decode
from core.decoding.decoder_conf import DECODER, PLAIN
from core.event_columns import ERROR
from core.sealed_text import KEY_BYTES, seal
from core.sealed_topic import sealed_topic
from core.topic import Topic
from tests.support.instances.sealed_visits import AT, topic
from tests.support.oracle.view_oracle import Record
from tests.support.records.frames import from_kafka

ANN, BOB = "s" + "a" * 32, "s" + "b" * 32
KEY = bytes(range(KEY_BYTES))
MAIL = {person: seal(KEY, person, "a@example.org") for person in (ANN, BOB)}
VISITS = topic()
CASES: list[tuple[str, str | None, str | None]] = [  # person, address, the rules that the record breaks
    (BOB, MAIL[BOB], None),
    (BOB, None, None),
    (ANN, MAIL[ANN], "rule_erased"),
    (BOB, MAIL[ANN], "rule_one_subject"),
    (ANN, MAIL[BOB], "rule_one_subject,rule_erased"),
    ("bob", None, "field_person"),
    (BOB, "a@example.org", "field_mail"),
    (BOB, MAIL[BOB].upper(), "field_mail"),
]


@contextmanager
def decoding(spark: SparkSession, way: str) -> Iterator[None]:
    """Decodes in one way inside the block."""
    before = spark.conf.get(DECODER)
    spark.conf.set(DECODER, way)
    yield
    spark.conf.set(DECODER, str(before))


def decoded(spark: SparkSession, topic: Topic, *deletes: str) -> list[tuple[str | None, str | None, str | None]]:
    """Person, address and broken rules of each case, then of deletes of these keys."""
    values = [{"person": person, "mail": mail, "cents": 1, "at": AT} for person, mail, _ in CASES]
    texts = [json.dumps(value, separators=(",", ":")).encode() for value in values]
    records = [
        Record("visits", 0, n, AT, case[0].encode(), text)
        for n, (case, text) in enumerate(zip(CASES, texts, strict=True))
    ]
    records += [Record("visits", 0, len(CASES) + n, AT, key.encode(), None) for n, key in enumerate(deletes)]
    rows = decode(topic, from_kafka(spark, records)).orderBy("_offset").collect()
    return [(row["person"], row["mail"], row[ERROR]) for row in rows]


@pytest.mark.parametrize("way", ["one_pass", PLAIN])
def test_a_record_of_an_erased_person_or_of_two_persons_is_quarantined(spark: SparkSession, way: str) -> None:
    with decoding(spark, way):
        rows = decoded(spark, sealed_topic(VISITS, [ANN]))
    assert rows == [(person, mail, None) if broken is None else (None, None, broken) for person, mail, broken in CASES]


@pytest.mark.parametrize("way", ["one_pass", PLAIN])
def test_a_delete_of_an_erased_person_is_quarantined(spark: SparkSession, way: str) -> None:
    changelog = replace(VISITS, changelog=True)
    with decoding(spark, way):
        rows = decoded(spark, sealed_topic(changelog, [ANN]), ANN, BOB, "bob")
    assert rows[-3:] == [(None, None, "rule_erased"), (BOB, None, None), (None, None, "field_person")]


def test_in_a_compacted_topic_an_erased_person_has_no_row_and_another_broken_record_keeps_its_key(
    spark: SparkSession,
) -> None:
    compacted = replace(VISITS, changelog=True, compacted=True, append_time=True, event_time=None)
    rows = decoded(spark, sealed_topic(compacted, [ANN]), ANN, BOB)
    assert [person for person, _, _ in rows] == [BOB, BOB, None, BOB, None, None, BOB, BOB, None, BOB]
