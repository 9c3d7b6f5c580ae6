"""Decodes Kafka records into typed events; the speed and the batch layer share this code.

Decoding never fails: a record that breaks rules becomes a row whose ``_error`` lists them, between commas.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.decoding import jvm_decoder, rules
from core.decoding.field_types import is_valid_time, typed_value
from core.decoding.formats import field_texts, pre_validated
from core.decoding.record_key_text import is_keyed_by_record, key_text
from core.decoding.redrive_headers import is_copy, original_key, original_value
from core.event_columns import DELETED, ERROR, RAW_COLUMNS, SOURCE_COLUMNS
from core.topic import EVENT_TIME, Field, Topic


def raw(archived: DataFrame) -> DataFrame:
    """Archive rows under the column names of Kafka's source, so that they can be decoded again."""
    return archived.select(*(fn.col(name).alias(source) for source, (name, _) in SOURCE_COLUMNS.items()))


def decode(topic: Topic, records: DataFrame) -> DataFrame:
    """One row per record, with the columns of ``decoded_columns(topic)``; a bad record has ``_error`` and null fields.

    A redriven copy whose original decodes by now is bad too: it would be counted twice.
    """
    plain = decode_plainly if "headers" in records.columns else decode_originals_plainly
    return _decoded(topic, _raw_columns(records), plain)


def decode_originals(topic: Topic, records: DataFrame) -> DataFrame:
    """The columns of ``decode`` for records that hold no redriven copy, with a plan half as large."""
    return _decoded(topic, _raw_columns(records), decode_originals_plainly)


def decode_plainly(topic: Topic, frame: DataFrame) -> DataFrame:
    """The definition of decoding, in Spark's own functions; ``frame`` has RAW_COLUMNS."""
    return _events(topic, _with_originals(topic, frame))


def decode_originals_plainly(topic: Topic, frame: DataFrame) -> DataFrame:
    """The definition of decoding for records that hold no redriven copy."""
    return _events(topic, frame.withColumn(rules.ORIGINAL_DECODES, fn.lit(False)))


def _decoded(topic: Topic, frame: DataFrame, plain: jvm_decoder.Decode) -> DataFrame:
    decoded = jvm_decoder.column(topic, frame.sparkSession, plain)
    if decoded is None:
        return plain(topic, frame)
    return frame.select(*RAW_COLUMNS, decoded.alias("_decoded")).select(*RAW_COLUMNS, "_decoded.*")


def _events(topic: Topic, frame: DataFrame) -> DataFrame:
    frame = _with(_read(topic, frame), {"_good": rules.first_broken(rules.all_rules(topic)).isNull()})
    frame = _with(frame, {ERROR: fn.when(~fn.col("_good"), rules.broken_rules(topic))})
    return frame.select(*RAW_COLUMNS, ERROR, *_fields(topic))


def _with_originals(topic: Topic, frame: DataFrame) -> DataFrame:
    """Adds ORIGINAL_DECODES: whether the original of a redriven copy decodes."""
    copies = [fn.col(name).alias(f"_copy{name}") for name in RAW_COLUMNS]
    originals = (original_key().alias("_key"), original_value().alias("_value"), fn.col("_timestamp"))
    read = _read(topic, frame.select(*copies, *originals, is_copy().alias("_is_copy")))
    decodes = fn.col("_is_copy") & rules.first_broken(rules.content_rules(topic)).isNull()
    restored = [fn.col(f"_copy{name}").alias(name) for name in RAW_COLUMNS]
    return read.select(*restored, decodes.alias(rules.ORIGINAL_DECODES))


def _read(topic: Topic, frame: DataFrame) -> DataFrame:
    """Adds ``_typed_<field>`` and ``<field>``, null where the text does not fit, and ``_time``, the event time.

    Each step is a projection of its own, so that Spark computes an expression once that is used several times.
    """
    frame = _checked_bytes(topic, frame)
    frame = _with_key(topic, field_texts(topic, frame))
    frame = _with(frame, {f"_typed_{field.name}": _typed(topic, field) for field in topic.fields})
    frame = _with(frame, {field.name: fn.col(f"_typed_{field.name}") for field in topic.fields})
    return _with(frame, {"_time": _event_time(topic)})


def _typed(topic: Topic, field: Field) -> Column:
    is_record_key = topic.changelog and field.name == topic.key and is_keyed_by_record(topic)
    checked = fn.lit(False) if is_record_key else pre_validated(topic, field)  # the text in the value, not the key
    return typed_value(field, fn.col(f"_text_{field.name}"), checked)


def _raw_columns(records: DataFrame) -> DataFrame:
    """Kafka's columns under our names; headers are null if the source does not include them."""
    available = set(records.columns)
    return records.select(
        *(
            (fn.col(source) if source in available else fn.lit(None)).cast(kind).alias(name)
            for source, (name, kind) in SOURCE_COLUMNS.items()
        )
    )


def _checked_bytes(topic: Topic, frame: DataFrame) -> DataFrame:
    frame = _with(frame, {rules.BYTES_ERROR: rules.first_broken(rules.byte_rules(topic))})
    return _with(frame, {"_text": fn.when(rules.value_readable(), fn.col("_value").cast("string"))})


def _with_key(topic: Topic, frame: DataFrame) -> DataFrame:
    """Adds the text of a changelog's key: from the record key for a delete, and for all where that key decides."""
    if not topic.changelog:
        return frame
    text = key_text(topic)
    if not is_keyed_by_record(topic):
        text = fn.when(rules.deletes(), text).otherwise(fn.col(f"_text_{topic.key}"))
    return frame.withColumn(f"_text_{topic.key}", text)


def _event_time(topic: Topic) -> Column:
    millis = fn.unix_millis("_timestamp")
    record_time = fn.timestamp_millis(fn.when(is_valid_time(millis), millis))
    if topic.event_time is None:
        return record_time
    field_time = fn.col(f"_typed_{topic.event_time}")
    return fn.when(rules.deletes(), record_time).otherwise(field_time) if topic.changelog else field_time


def _fields(topic: Topic) -> Iterable[Column]:
    good = fn.col("_good")
    # A compacted topic loses the records of the key before a bad one, so a bad record keeps its key and time.
    has_key = good | (_key_is_kept(topic) if topic.compacted else fn.lit(False))
    yield fn.when(has_key, fn.col("_time")).alias(EVENT_TIME)
    if topic.changelog:
        yield fn.when(good, rules.deletes()).alias(DELETED)
    for field in topic.fields:
        if field.name != EVENT_TIME:
            yield fn.when(has_key if field.name == topic.key else good, fn.col(f"_typed_{field.name}")).alias(
                field.name
            )


def _key_is_kept(topic: Topic) -> Column:
    """Whether a bad record has a key, and not that of an erased person, who has no row."""
    return fn.col(f"_typed_{topic.key}").isNotNull() & ~rules.key_is_erased(topic)


def _with(frame: DataFrame, columns: dict[str, Column]) -> DataFrame:
    return frame.withColumns(columns) if columns else frame
