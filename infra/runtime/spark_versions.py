"""The Sparks that the same code runs on: the locked one, and the one that EMR has. What differs is here alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyspark


@dataclass(frozen=True)
class SparkVersion:
    """A Spark: its set in ``jars.lock``, the oldest Java that it is run on, options of Java and of sessions.

    ``checkpoints`` is the package of the classes that write checkpoints.
    """

    jars: str
    oldest_java: int
    java_options: str
    checkpoints: str
    conf: dict[str, str] = field(default_factory=dict)


# The stack: stopping a query in mid-batch overflows the default one in a regex of Spark's.
# Throughput counts more than pauses: with the parallel collector a fifth more records are decoded a second.
# A topic's decoder is one method, and Java would only interpret one of more than 8,000 bytes: four times slower.
_JVM = "-Xss4m -XX:+UseParallelGC -XX:-DontCompileHugeMethods --enable-native-access=ALL-UNNAMED"

_STREAMING = "org.apache.spark.sql.execution.streaming"

LOCKED = SparkVersion("spark", 25, f"{_JVM} --sun-misc-unsafe-memory-access=allow", f"{_STREAMING}.checkpointing")
# Spark 4.0 writes a filter on what a decoder made out again for each projection that it pushes it through: a plan that
# grows without end. Our filters stand where they are to be computed; those on tables stand on the tables.
_PUSHING = ("PushDownPredicates", "PushPredicateThroughNonJoin")
_EXCLUDED = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _PUSHING)
EMR = SparkVersion("emr", 17, _JVM, _STREAMING, {"spark.sql.optimizer.excludedRules": _EXCLUDED})


def installed_spark() -> SparkVersion:
    """The one that this Python has."""
    return EMR if pyspark.__version__.startswith("4.0.") else LOCKED
