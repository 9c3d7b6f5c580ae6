"""The key of a record, in each encoding, and the rules that it may break."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from core.decoding.decode import decode
from core.decoding.record_key_text import key_text
from core.record_keys import decode_key
from core.topic import Field
from tests.support.oracle.view_oracle import Record, decode_record
from tests.support.records.decoder import Decoder
from tests.support.records.frames import dicts, from_kafka
from tests.support.records.trade_records import GOOD, T0, but, trade_records
from views import trades
from views.programs import preferences, profiles


def test_a_topic_with_a_key_quarantines_records_without_one(spark: SparkSession, decoder: Decoder) -> None:
    [row] = dicts(decoder.rows(trades.TOPIC, trade_records(GOOD, key=None)))
    assert (row["_error"], row["_key"]) == ("null_key", None)
    more = [None, "nope", but(type="sell")]
    errors = [row["_error"] for row in dicts(decoder.rows(trades.TOPIC, trade_records(*more, key=None)))]
    assert errors == ["null_value,null_key", "null_key,not_json", "null_key,field_type"]
    assert errors == [decode_record("trades", record) for record in trade_records(*more, key=None)]
    [row] = dicts(decode(replace(trades.TOPIC, key=None), from_kafka(spark, trade_records(GOOD, key=None))))
    assert row["_error"] is None


@pytest.mark.parametrize(
    ("key", "value", "profile_error", "preference_error"),
    [
        (b"u1", b'{"user_id":"u1","city":"Oslo","level":0,"theme":"dark"}', None, None),
        (b"u1", None, None, None),
        (None, None, "null_key", "null_key"),
        (b"\xff", None, "bad_utf8_key", "bad_utf8_key"),
        (
            b"\xff",
            b'{"user_id":"u1","city":"Oslo","level":-1,"theme":"x"}',
            "bad_utf8_key,field_level",
            "bad_utf8_key,field_theme",
        ),
        (b"u1", b"{}", "field_user_id,field_city,field_level", "field_theme"),
        (b"u1", b"\xff", "bad_utf8", "bad_utf8"),
        (None, b"nope", "null_key,not_json", "null_key,not_json"),
    ],
)
def test_a_changelog_reports_only_rules_that_apply_to_its_record(
    decoder: Decoder, key: bytes | None, value: bytes | None, profile_error: str | None, preference_error: str | None
) -> None:
    for topic, expected in ((profiles.TOPIC, profile_error), (preferences.TOPIC, preference_error)):
        [row] = dicts(decoder.rows(topic, [Record(topic.name, 0, 0, T0, key, value)]))
        assert row["_error"] == expected


KEYS = {
    "int32": [b"\0\0\0*", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\x7f\xff\xff\xff", b"\0*", b"42", b"", None],
    "int64": [b"\0\0\0\0\0\0\0*", b"\xff" * 8, b"\x80" + b"\0" * 7, b"\x7f" + b"\xff" * 7, b"\0\0\0*", None],
    "uuid": [bytes(range(0xF8, 0x100)) + bytes(range(8)), b"\0" * 16, b"\0" * 15, None],
    "bytes": [b"\0\xff", b"", b"a", None],
    "text": ["é1".encode(), b"", b"\xff", None],
}


def test_spark_and_python_read_a_key_alike(spark: SparkSession) -> None:
    rows = [(encoding, key) for encoding, keys in KEYS.items() for key in keys]
    frame = spark.createDataFrame(rows, "encoding string, _key binary").coalesce(1)
    texts = [key_text(replace(profiles.TOPIC, key_encoding=encoding)).alias(encoding) for encoding in KEYS]
    expected = [decode_key(encoding, key) if key is not None else None for encoding, key in rows]
    assert [row[row["encoding"]] for row in frame.select("encoding", *texts).collect()] == expected
    assert expected[:4] == ["42", "-1", "-2147483648", "2147483647"]


def test_a_changelog_whose_keys_are_not_text_takes_them_from_the_record(decoder: Decoder) -> None:
    """The value's own text of the key does not count, as a delete has none."""
    fields = (Field("user_id", "bigint"), *profiles.TOPIC.fields[1:])
    topic = replace(profiles.TOPIC, name="numbered", key_encoding="int32", fields=fields)
    value = b'{"user_id":7,"city":"Oslo","level":1}'
    keys_and_values = [(b"\0\0\0*", value), (b"\0\0\0*", None), (b"42", value), (b"42", None), (None, None)]
    rows = dicts(decoder.rows(topic, [Record("numbered", 0, n, T0, k, v) for n, (k, v) in enumerate(keys_and_values)]))
    assert [(row["_error"], row["user_id"], row["deleted"]) for row in rows] == [
        (None, 42, False),
        (None, 42, True),
        ("bad_key", None, None),
        ("bad_key", None, None),
        ("null_key", None, None),
    ]


def test_the_key_of_a_compacted_topic_must_match_its_own_pattern(decoder: Decoder) -> None:
    """It is the text of the record key that must match, not the text in the value."""
    fields = (Field("user_id", pattern="u[0-9]"), Field("theme"))
    topic = replace(preferences.TOPIC, name="strict", fields=fields)
    value = b'{"user_id":"u1","theme":"dark"}'
    rows = dicts(decoder.rows(topic, [Record("strict", 0, n, T0, key, value) for n, key in enumerate((b"u2", b"x"))]))
    assert [(row["_error"], row["user_id"]) for row in rows] == [(None, "u2"), ("field_user_id", None)]
