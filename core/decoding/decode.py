"""Records become events: one pass, one home, for the speed and the batch layer alike.

Nothing throws: a record that is no event stays as a row whose ``_error`` names the rules it broke, between commas.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.decoding import rules
from core.decoding.field_types import in_range, typed_value
from core.decoding.formats import field_texts, pre_validated
from core.decoding.redrive_headers import is_copy, original_key, original_value
from core.event_columns import DELETED, ERROR, RAW_COLUMNS, SOURCE_COLUMNS
from core.topic import EVENT_TIME, Topic


def raw(archived: DataFrame) -> DataFrame:
    """Archive rows under the names of Kafka's source, to be decoded again."""
    return archived.select(*(fn.col(name).alias(source) for source, (name, _) in SOURCE_COLUMNS.items()))


def decode(topic: Topic, records: DataFrame) -> DataFrame:
    """One row per record, with ``decoded_columns(topic)``; a bad record has ``_error`` and null fields.

    So has the repaired copy of a record that could not be decoded and now can: it would be counted twice.
    """
    return _events(topic, _with_originals(topic, _raw_columns(records)))


def decode_originals(topic: Topic, records: DataFrame) -> DataFrame:
    """The same for records none of which is such a copy, by half the plan."""
    return _events(topic, _raw_columns(records).withColumn(rules.ORIGINAL_DECODES, fn.lit(False)))


def _events(topic: Topic, frame: DataFrame) -> DataFrame:
    frame = _with(_read(topic, frame), {"_good": rules.first_broken(rules.all_rules(topic)).isNull()})
    frame = _with(frame, {ERROR: fn.when(~fn.col("_good"), rules.broken_rules(topic))})
    return frame.select(*RAW_COLUMNS, ERROR, *_fields(topic))


def _with_originals(topic: Topic, frame: DataFrame) -> DataFrame:
    """Says of every copy whether its original decodes, by reading that first."""
    kept = [fn.col(name).alias(f"_copy{name}") for name in RAW_COLUMNS]
    asked = (original_key().alias("_key"), original_value().alias("_value"), fn.col("_timestamp"))
    found = _read(topic, frame.select(*kept, *asked, is_copy().alias("_is_copy")))
    decodes = fn.col("_is_copy") & rules.first_broken(rules.content_rules(topic)).isNull()
    back = [fn.col(f"_copy{name}").alias(name) for name in RAW_COLUMNS]
    return found.select(*back, decodes.alias(rules.ORIGINAL_DECODES))


def _read(topic: Topic, frame: DataFrame) -> DataFrame:
    """What is in the bytes: ``_is_<field>`` and ``<field>``, null where a record breaks a rule, and ``_time``.

    Each step is a projection of its own: Spark computes what is used more than once only once.
    """
    frame = _checked_bytes(topic, frame)
    frame = _with_key(topic, field_texts(topic, frame))
    values = {f"_is_{f.name}": typed_value(f, fn.col(f"_as_{f.name}"), pre_validated(topic, f)) for f in topic.fields}
    frame = _with(frame, values)
    frame = _with(frame, {field.name: fn.col(f"_is_{field.name}") for field in topic.fields})
    return _with(frame, {"_time": _event_time(topic)})


def _raw_columns(records: DataFrame) -> DataFrame:
    """Kafka's columns under our names; a source without headers has null ones."""
    known = set(records.columns)
    return records.select(
        *(
            (fn.col(source) if source in known else fn.lit(None)).cast(kind).alias(name)
            for source, (name, kind) in SOURCE_COLUMNS.items()
        )
    )


def _checked_bytes(topic: Topic, frame: DataFrame) -> DataFrame:
    frame = _with(frame, {rules.BYTES_ERROR: rules.first_broken(rules.byte_rules(topic))})
    return _with(frame, {"_text": fn.when(rules.value_readable(), fn.col("_value").cast("string"))})


def _with_key(topic: Topic, frame: DataFrame) -> DataFrame:
    """A delete has no value: its key is the record's. In a compacted topic every key is: the log compacts by it."""
    if not topic.changelog:
        return frame
    own = fn.when(fn.is_valid_utf8(fn.col("_key").cast("string")), fn.col("_key").cast("string"))
    text = own if topic.compacted else fn.when(rules.deletes(), own).otherwise(fn.col(f"_as_{topic.key}"))
    return frame.withColumn(f"_as_{topic.key}", text)


def _event_time(topic: Topic) -> Column:
    millis = fn.unix_millis("_timestamp")
    written = fn.timestamp_millis(fn.when(in_range(millis), millis))
    if topic.event_time is None:
        return written
    told = fn.col(f"_is_{topic.event_time}")
    return fn.when(rules.deletes(), written).otherwise(told) if topic.changelog else told


def _fields(topic: Topic) -> Iterable[Column]:
    good = fn.col("_good")
    # The log forgets what a key had before a bad record, so that is told, too: the key with unknown values.
    known = good | (fn.col(f"_is_{topic.key}").isNotNull() if topic.compacted else fn.lit(False))
    yield fn.when(known, fn.col("_time")).alias(EVENT_TIME)
    if topic.changelog:
        yield fn.when(good, rules.deletes()).alias(DELETED)
    for field in topic.fields:
        if field.name != EVENT_TIME:
            yield fn.when(known if field.name == topic.key else good, fn.col(f"_is_{field.name}")).alias(field.name)


def _with(frame: DataFrame, columns: dict[str, Column]) -> DataFrame:
    return frame.withColumns(columns) if columns else frame
