"""Records with changed bytes: good ones of a topic in which bytes are replaced, removed, inserted or copied."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

# What JSON, numbers, times, UTF-8 and our own separators are sensitive to.
_BYTES = b'"\\{}[]:,.-+eE0123456789 \t\n\x00\x01\x1f\x7f\x80\xbf\xc3\xa9\xed\xa0\xf0\xffunlltrfasATZ/'
_WORDS = (b"null", b"true", b'""', b'\\"', b"\\u00e9", b"\\ud800", "é".encode(), "😀".encode(), b"00", b"1e3", b"{}")
_TIME_MS = 1_767_225_600_000
_ROUNDS = 3


def mutated(spark: SparkSession, seeds: Sequence[bytes], count: int, seed: int) -> DataFrame:
    """``count`` records with the columns of Kafka's source, each a seed changed up to three times; the same each time.

    One in sixteen has no key, one a key that is no text, one no value, and one a time that is out of range.
    """
    numbers = spark.range(count)
    frame = numbers.select("id", _chosen(seeds, _dice(seed, 0)).alias("value"))
    for turn in range(_ROUNDS):
        frame = frame.withColumn("value", _changed(seeds, seed, turn))
    odd, at = fn.pmod(_dice(seed, 91), fn.lit(16)), fn.lit(_TIME_MS) + fn.col("id")
    key = fn.when(odd == 0, fn.lit(None)).when(odd == 1, fn.lit(b"\xff")).otherwise(fn.lit(b"key"))
    return frame.select(
        key.cast("binary").alias("key"),
        fn.when(odd != 2, fn.col("value")).alias("value"),
        fn.lit("fuzz").alias("topic"),
        fn.lit(0).alias("partition"),
        fn.col("id").alias("offset"),
        fn.timestamp_millis(fn.when(odd == 3, fn.lit(0)).otherwise(at)).alias("timestamp"),
        fn.lit(0).alias("timestampType"),
    )


def _changed(seeds: Sequence[bytes], seed: int, turn: int) -> Column:
    """Half of the values as they are; of the others one place is replaced by a byte, a word, nothing or a copy."""
    base, value = 10 * turn + 1, fn.col("value")
    place = (fn.pmod(_dice(seed, base), fn.greatest(fn.octet_length(value), fn.lit(1))) + 1).cast("int")
    removed = fn.pmod(_dice(seed, base + 1), fn.lit(4)).cast("int")
    kind = fn.pmod(_dice(seed, base + 2), fn.lit(8))
    copied = fn.substring(_chosen(seeds, _dice(seed, base + 3)), place, removed + 6)
    byte, word = _chosen([bytes([b]) for b in _BYTES], _dice(seed, base + 4)), _chosen(_WORDS, _dice(seed, base + 5))
    changed = (
        fn.when(kind == 0, fn.overlay(value, byte, place, fn.lit(1)))
        .when(kind == 1, fn.overlay(value, word, place, removed))
        .when(kind == 2, fn.overlay(value, fn.lit(b""), place, removed))
        .when(kind == 3, fn.overlay(value, copied, place, removed))
    )
    return fn.coalesce(changed, value)


def _chosen(values: Sequence[bytes], dice: Column) -> Column:
    return fn.element_at(fn.array(*map(fn.lit, values)), (fn.pmod(dice, fn.lit(len(values))) + 1).cast("int"))


def _dice(seed: int, number: int) -> Column:
    return fn.xxhash64("id", fn.lit(seed), fn.lit(number))
