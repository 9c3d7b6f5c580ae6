"""The text of record keys as Spark columns; core/record_keys.py is the same in Python."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.record_keys import KEY_ENCODINGS, TEXT
from core.topic import Topic


def key_text(topic: Topic) -> Column:
    """The text of the record key; null where its bytes are not in the topic's encoding, or where there is none."""
    key = fn.col("_key")
    if topic.key_encoding == TEXT:
        return fn.when(fn.is_valid_utf8(key.cast("string")), key.cast("string"))
    digits, length = fn.lower(fn.hex(key)), KEY_ENCODINGS[topic.key_encoding].length
    return digits if length is None else fn.when(fn.octet_length(key) == length, _text(topic.key_encoding, digits))


def is_keyed_by_record(topic: Topic) -> bool:
    """Whether a changelog takes the key of every record, not only of a delete, from the record key."""
    return topic.compacted or topic.key_encoding != TEXT


def _text(encoding: str, digits: Column) -> Column:
    """The text of a key of the right length, from its hexadecimal digits."""
    if encoding == "uuid":
        return fn.regexp_replace(digits, "(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5")
    sign = fn.when(digits >= "8", fn.lit("f" * 8)).otherwise("") if encoding == "int32" else fn.lit("")
    return fn.conv(fn.concat(sign, digits), 16, -10)  # of 64 bits, with a sign
