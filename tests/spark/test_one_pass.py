"""Decoding in one pass reads the same as the plain decoder: for every topic, and however bytes are changed."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.decoding import jvm_decoder
from core.decoding.decode import decode, decode_originals, decode_originals_plainly, decode_plainly
from core.decoding.decoder_conf import DECODER, PLAIN
from core.decoding.one_pass import declaration
from core.decoding.redrive_headers import Headers, headers
from core.event_columns import ERROR, RAW_COLUMNS
from core.example import example_records
from core.topic import Rule, Topic
from infra.definitions import definition_files
from infra.settings import Settings
from tests.support.oracle.view_oracle import Record, decode_record
from tests.support.records.frames import KAFKA, dicts, from_kafka, named
from tests.support.records.mutated_records import mutated
from tests.support.records.shaped_topics import CHANGES, CHANGES_RECORDS, KINDS, KINDS_RECORDS, LINES, LINES_RECORDS
from views import access_log, trades

T0 = 1_763_712_000_000
TRADE = b'{"type":"bid","ticker":"AAPL","price":12.34,"size":100,"event_time":1763712000000,"id":"7-1"}'
TRADES = (
    TRADE,
    TRADE.replace(b'":', b'": ').replace(b',"', b', "'),
    b'{"version":2,"side":"ASK","symbol":"MSFT","price":"1.50","size":3,"event_time":1763712000001,"venue":"XNAS"}',
)
REQUESTS = (
    b'127.0.0.1 - - [10/Oct/2025:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326 "http://a.example/" "Mozilla/4"',
    b'h - frank [29/Feb/2024:00:00:00 +0000] "POST / HTTP/1.1" 304 - "-" "a \\"quoted\\" agent"',
)
SHAPED: dict[str, tuple[Topic, Sequence[bytes]]] = {
    "trades": (trades.TOPIC, TRADES),
    "access_log": (access_log.TOPIC, REQUESTS),
    "kinds": (KINDS, KINDS_RECORDS),
    "changes": (CHANGES, CHANGES_RECORDS),
    "lines": (LINES, LINES_RECORDS),
}


def _examples() -> dict[str, tuple[Topic, Sequence[bytes]]]:
    """The topics of this project, with the records of the examples."""
    catalog: Catalog = definition_files.load(Settings())
    values: dict[str, list[bytes]] = defaultdict(list)
    for view, example in catalog.examples.items():
        for topic, records in example_records(catalog.view(view), example).items():
            values[topic] += [record.value.encode() for record in records if record.value is not None]
    return {topic: (catalog.topic(topic), records) for topic, records in sorted(values.items())}


EXAMPLES = _examples()


def both_ways(topic: Topic, records: DataFrame) -> DataFrame:
    """The records with what each way decodes, as one struct a way."""
    raw = named(records)
    plain = decode_originals_plainly(topic, raw)
    columns = [name for name in plain.columns if name not in RAW_COLUMNS]
    in_one_pass = jvm_decoder.column(topic, records.sparkSession, decode_originals_plainly)
    assert in_one_pass is not None
    both = plain.select(*RAW_COLUMNS, fn.struct(*columns).alias("plain"))
    return both.select("_key", "_value", "_timestamp", "plain", in_one_pass.alias("one_pass"))


def differences(topic: Topic, records: DataFrame) -> list[Row]:
    """Some records that the two ways decode to different cells."""
    return both_ways(topic, records).where(~fn.col("plain").eqNullSafe(fn.col("one_pass"))).limit(5).collect()


def sure(topic: Topic, spark: SparkSession, values: Sequence[bytes]) -> list[bool]:
    """Whether one pass decodes each value."""
    java_class = jvm_decoder._java_class(spark)
    of_topic = jvm_decoder._decoder(java_class, topic, spark, decode_originals_plainly)
    return [of_topic.decoder.isSure(b"key", value, T0 * 1_000) for value in values]


@pytest.mark.parametrize("name", SHAPED)
def test_records_of_a_declared_shape_are_decoded_in_one_pass(spark: SparkSession, name: str) -> None:
    topic, values = SHAPED[name]
    expected = {"trades": [True, True, False], "kinds": [True, True, False, True, False, False]}
    assert sure(topic, spark, values) == expected.get(name, [True] * len(values))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_every_topic_are_decoded_alike(spark: SparkSession, name: str) -> None:
    topic, values = EXAMPLES[name]
    assert differences(topic, mutated(spark, values, 4 * len(values) + 40, seed=1)) == []


@pytest.mark.parametrize("name", SHAPED)
def test_records_with_changed_bytes_are_decoded_alike(spark: SparkSession, name: str) -> None:
    require_equal(spark, name, 20_000, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPED)
def test_many_records_with_changed_bytes_are_decoded_alike(spark: SparkSession, name: str) -> None:
    require_equal(spark, name, int(os.environ.get("CHANGED_RECORDS", "400000")), seed=3)


def require_equal(spark: SparkSession, name: str, count: int, seed: int) -> None:
    topic, values = SHAPED[name]
    records = mutated(spark, values, count, seed)
    assert differences(topic, records) == []
    sample = [bytes(row["value"]) for row in records.where("value is not null").limit(500).collect()]
    share = sum(sure(topic, spark, sample)) / len(sample)
    assert 0.05 < share < 0.95, "the records are not a mixture of good and bad ones"


def test_changed_trades_and_requests_are_decoded_as_the_oracle_says(spark: SparkSession) -> None:
    for name in ("trades", "access_log"):
        topic, values = SHAPED[name]
        rows = mutated(spark, values, 3_000, seed=4).collect()
        records = [Record(name, 0, row["offset"], T0, optional(row["key"]), optional(row["value"])) for row in rows]
        for row in dicts(decode_originals(topic, from_kafka(spark, records))):
            expected = decode_record(name, records[row["_offset"]])
            decoded = row[ERROR] or {column: row[column] for column in expected if column in row}
            assert decoded == expected, records[row["_offset"]]


def optional(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def test_a_redriven_copy_is_never_decoded_in_one_pass(spark: SparkSession) -> None:
    copied = headers("trades/0/7", b"AAPL", TRADE, [])
    of_records: list[Headers] = [[], [("trace", b"1")], copied, [("trace", b"1"), *copied]]
    rows = [
        {"key": b"AAPL", "value": TRADE, "topic": "trades", "partition": 0, "offset": offset, "timestamp": None}
        | {"timestampType": 0, "headers": [{"key": key, "value": value} for key, value in own]}
        for offset, own in enumerate(of_records)
    ]
    times = [row | {"timestamp": T0 * 1_000} for row in rows]
    frame = spark.createDataFrame(pa.Table.from_pylist(times, KAFKA)).coalesce(1)
    errors = [row[ERROR] for row in dicts(decode(trades.TOPIC, frame))]
    assert errors == [None, None, "redriven_original_decodes", "redriven_original_decodes"]
    assert errors == [row[ERROR] for row in dicts(decode_plainly(trades.TOPIC, named(frame)))]


def test_a_record_without_a_time_goes_to_the_plain_decoder(spark: SparkSession) -> None:
    topic = replace(trades.TOPIC, event_time=None)
    row = {"key": b"k", "value": TRADE, "topic": "trades", "partition": 0, "offset": 0, "timestampType": 0}
    frame = spark.createDataFrame(pa.Table.from_pylist([row], KAFKA)).coalesce(1)
    assert differences(topic, frame) == []


def test_a_topic_whose_rules_read_the_record_is_decoded_plainly(spark: SparkSession) -> None:
    topic = replace(trades.TOPIC, rules=(Rule("near", "event_time <= _timestamp + interval 1 day"),))
    assert jvm_decoder.column(topic, spark, decode_originals_plainly) is None
    assert dicts(decode(topic, from_kafka(spark, [Record("trades", 0, 0, T0, b"k", TRADE)])))[0][ERROR] is None


@pytest.mark.parametrize(("name", "value"), [("spark.sql.session.timeZone", "America/New_York"), (DECODER, PLAIN)])
def test_a_session_that_reads_times_elsewhere_or_says_so_decodes_plainly(
    spark: SparkSession, name: str, value: str
) -> None:
    before = spark.conf.get(name)
    assert before is not None
    spark.conf.set(name, value)
    try:
        assert jvm_decoder.column(KINDS, spark, decode_originals_plainly) is None
    finally:
        spark.conf.set(name, before)


def test_interpreted_expressions_decode_alike(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    try:
        assert differences(replace(KINDS, comment="interpreted"), mutated(spark, KINDS_RECORDS, 2_000, seed=6)) == []
    finally:
        spark.conf.unset("spark.sql.codegen.factoryMode")


def test_threads_do_not_share_the_state_of_expressions(spark: SparkSession) -> None:
    """Rules with a lambda, in two tasks at once."""
    records = mutated(spark, KINDS_RECORDS, 60_000, seed=7).repartition(2, "offset")
    assert differences(KINDS, records) == []


def test_a_text_on_which_a_pattern_overflows_is_left_to_the_plain_decoder(spark: SparkSession) -> None:
    words = replace(KINDS, fields=(replace(KINDS.fields[0], pattern="[a-z]+(?: [a-z]+)*"), *KINDS.fields[1:]))
    unfinished = b'{"text":"' + b"ab " * 20_000 + b'ab","side":"buy"'
    assert sure(words, spark, [unfinished, KINDS_RECORDS[0]]) == [False, True]


def test_a_planted_difference_between_the_two_ways_is_found(spark: SparkSession) -> None:
    """The check of this file is checked: a decoder of another topic is no equal."""
    stricter = replace(
        trades.TOPIC,
        fields=tuple(replace(field, maximum="99") if field.name == "size" else field for field in trades.TOPIC.fields),
    )
    records = named(mutated(spark, TRADES, 100, seed=5))
    in_one_pass = jvm_decoder.column(trades.TOPIC, spark, decode_originals_plainly)
    assert in_one_pass is not None
    plain = decode_originals_plainly(stricter, records)
    rows = plain.select(ERROR, in_one_pass[ERROR].alias("in_one_pass")).collect()
    assert sum(row[ERROR] is not None and row["in_one_pass"] is None for row in rows) > 10


def test_topics_that_are_not_covered_are_not_declared() -> None:
    fields = trades.TOPIC.fields
    assert declaration(replace(trades.TOPIC, fields=(replace(fields[0], maximum="b"), *fields[1:]))) is None
    assert declaration(replace(CHANGES, compacted=True)) is None
    assert declaration(replace(CHANGES, key_encoding="int64")) is None
    wide = replace(KINDS, fields=(*KINDS.fields[:2], replace(KINDS.fields[2], type="decimal(19,2)"), *KINDS.fields[3:]))
    assert declaration(wide) is None
