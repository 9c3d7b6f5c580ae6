"""A topic's decoder as one expression, where the session has the class RecordDecoder (infra/spark/scala).

Spark plans and compiles the plain decoder once for each topic, and not once more for each query over its records. The
expression reads most records in one pass, and gives the others to the plain decoder: it is no second definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.decoding.decoder_conf import DECODER, PLAIN
from core.decoding.one_pass import declaration
from core.event_columns import RAW_COLUMNS, SOURCE_COLUMNS, decoded_columns
from core.topic import Json, Topic

_INPUTS = ("_key", "_value", "_timestamp", "_headers")
_TYPES = dict(SOURCE_COLUMNS.values())
# The pass reads times in UTC, as sessions are set; the plain decoder reads them as its session says.
_USUAL = {"spark.sql.session.timeZone": "UTC", "spark.sql.legacy.timeParserPolicy": "CORRECTED"}
_ANSI = "spark.sql.ansi.enabled"

Decode = Callable[[Topic, DataFrame], DataFrame]


@dataclass(frozen=True)
class _Decoder:
    """A RecordDecoder of the JVM, and a frame with the columns that it gives."""

    decoder: Any
    plain: DataFrame


# By JVM, definition and way. Topics are planned in threads, so the dictionary is only asked for a key and added to.
_decoders: dict[tuple[object, ...], _Decoder] = {}


def column(topic: Topic, spark: SparkSession, plain: Decode) -> Column | None:
    """A struct of what ``plain`` adds to records with RAW_COLUMNS; None where the class is missing or off.

    None also for a topic whose expressions read the record itself, and for a session that reads times in another way.
    """
    java_class = _java_class(spark)
    if (
        java_class is None
        or _reads_record(topic)
        or any(spark.conf.get(name) != usual for name, usual in _USUAL.items())
    ):
        return None
    of_topic = _decoder(java_class, topic, spark, plain)
    inputs = (fn.col(name)._jc for name in _INPUTS)
    as_column = type(fn.lit(None))  # the class of columns in this process, beside Spark Connect's
    return as_column(java_class.column(of_topic.decoder, of_topic.plain._jdf, *inputs))


def has_classes(spark: SparkSession) -> bool:
    """Whether this session has the classes of infra/spark/scala, and may use them."""
    return _java_class(spark) is not None


def _java_class(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    attribute = jvm.org.apache.spark.sql.lk.RecordDecoder
    is_class = type(attribute).__name__ == "JavaClass"  # py4j answers with a package for what is not there
    return attribute if is_class and spark.conf.get(DECODER, "") != PLAIN else None


def _reads_record(topic: Topic) -> bool:
    """Whether a rule, or a computed field of a version, names a column such as ``_offset``."""
    texts = [rule.sql for rule in topic.rules]
    if isinstance(topic.format, Json):
        texts += [sql for version in topic.format.versions for sql in version.upcast.values()]
    return any(re.search(rf"\b({'|'.join(RAW_COLUMNS)})\b", text, re.IGNORECASE) for text in texts)


def _decoder(java_class: Any, topic: Topic, spark: SparkSession, plain: Decode) -> _Decoder:
    key = (spark.sparkContext._gateway, repr(replace(topic, generator=None)), spark.conf.get(_ANSI), plain)
    if key not in _decoders:
        frame = _plain_columns(topic, spark, plain)
        columns = ", ".join(
            f"`{name}` {kind}" for name, kind in decoded_columns(topic).items() if name in frame.columns
        )
        events = spark.createDataFrame(spark.sparkContext.emptyRDD(), columns)
        rules = events.select(*(fn.coalesce(fn.expr(rule.sql), fn.lit(False)) for rule in topic.rules))
        _decoders[key] = _Decoder(java_class.make(declaration(topic), rules._jdf, frame._jdf), frame)
    return _decoders[key]


def _plain_columns(topic: Topic, spark: SparkSession, plain: Decode) -> DataFrame:
    """The plain decoder over no records: its columns after those of Kafka."""
    inputs = ", ".join(f"{name} {_TYPES[name]}" for name in _INPUTS)
    records = spark.createDataFrame(spark.sparkContext.emptyRDD(), inputs)
    others = (fn.lit(None).cast(_TYPES[name]).alias(name) for name in RAW_COLUMNS if name not in _INPUTS)
    return plain(topic, records.select("*", *others)).drop(*RAW_COLUMNS)
