"""Supported Spark versions and how they differ: the locked one, and that of EMR."""

from __future__ import annotations

from dataclasses import dataclass, field

from infra.runtime import pyspark_files


@dataclass(frozen=True)
class SparkVersion:
    """A Spark version: its set in ``jars.lock``, the oldest supported Java, options of Java and of sessions.

    ``checkpoints`` is the Java package of the classes that write checkpoints.
    """

    jars: str
    oldest_java: int
    java_options: str
    checkpoints: str
    conf: dict[str, str] = field(default_factory=dict)


# -Xss: stopping a query in mid-batch overflows the default stack in a regular expression of Spark.
# ParallelGC decodes a fifth more records per second; its longer pauses do not matter here.
# A topic's decoder is one method. By default Java only interprets methods of more than 8,000 bytes: 4 times slower.
_JVM = "-Xss4m -XX:+UseParallelGC -XX:-DontCompileHugeMethods --enable-native-access=ALL-UNNAMED"

_STREAMING = "org.apache.spark.sql.execution.streaming"

LOCKED = SparkVersion("spark", 25, f"{_JVM} --sun-misc-unsafe-memory-access=allow", f"{_STREAMING}.checkpointing")
# Spark 4.0 duplicates a filter on decoded columns for each projection that it pushes the filter through, and the plan
# grows without bound. Our filters already are where they must be computed.
_PUSHDOWN_RULES = ("PushDownPredicates", "PushPredicateThroughNonJoin")
_EXCLUDED_RULES = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _PUSHDOWN_RULES)
EMR = SparkVersion("emr", 17, _JVM, _STREAMING, {"spark.sql.optimizer.excludedRules": _EXCLUDED_RULES})


def installed_spark() -> SparkVersion:
    """The Spark version that is installed in this Python."""
    return EMR if pyspark_files.version().startswith("4.0.") else LOCKED
