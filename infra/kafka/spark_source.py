"""Reads exact offset ranges of the log into Spark, with our own source or with Spark's Kafka source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.cut import Span
from core.decoding import jvm_decoder
from infra.kafka import client_config
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OWN_SOURCE = "org.apache.spark.sql.kafka010.LogSource"  # infra/spark/scala
_FEW_RECORDS = 25_000


def source_options(settings: Settings, records: int, client: str | None = None) -> dict[str, str]:
    """Options of Spark's Kafka source that every reader of the log uses; ``records`` is the most that one query reads.

    ``client`` is the id of a run, whose consumers share a quota; other consumers have ids of their own.
    A poll returns up to ten times Kafka's default of 500 records, which takes a fifth less CPU per record. Few records
    are polled in tens: a poll is in memory at once, and each record may have a megabyte. A request for log end offsets
    waits for a dead broker until its timeout, and only the next one refreshes the partition leaders; so the timeouts
    are short.
    """
    return {
        **client_config.spark_options(settings),
        "kafka.isolation.level": "read_committed",
        "kafka.max.poll.records": "5000" if records > _FEW_RECORDS else "50",
        "kafka.default.api.timeout.ms": "20000",
        "kafka.request.timeout.ms": "20000",
        "fetchOffset.numRetries": "9",
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        **({"kafka.client.id": client} if client else {}),
    }


def read_spans(
    spark: SparkSession, settings: Settings, spans: Sequence[Span], *, task_records: int, group: str | None = None
) -> DataFrame:
    """Reads exactly these offsets of one topic, at most ``task_records`` in a task. Spark fails when one was removed.

    Our own source gives the same rows as Spark's for less CPU time (decision 44). A session without our classes reads
    with Spark's, whose executors keep their consumers for the next read of the consumer group ``group``: a run's id.
    """
    size = sum(span.size for span in spans)
    own = jvm_decoder.has_classes(spark)
    options = _own_options(spans, task_records) if own else _options(spans, size, task_records, group)
    source = spark.read.format(_OWN_SOURCE if own else "kafka")
    return source.options(**source_options(settings, size, group), **options).load()


def _own_options(spans: Sequence[Span], task_records: int) -> dict[str, str]:
    lines = (f"{span.topic} {span.partition} {span.start} {span.end}" for span in spans)
    return {"spans": "\n".join(lines), "taskRecords": str(task_records)}


def _options(spans: Sequence[Span], size: int, task_records: int, group: str | None) -> dict[str, str]:
    topic = spans[0].topic
    offsets = {which: {str(s.partition): getattr(s, which) for s in spans} for which in ("start", "end")}
    return {
        "assign": json.dumps({topic: [span.partition for span in spans]}),
        "startingOffsets": json.dumps({topic: offsets["start"]}),
        "endingOffsets": json.dumps({topic: offsets["end"]}),
        "minPartitions": str(sum(-(-span.size // task_records) for span in spans)),
        # Spark keeps a consumer by its group, and refuses other options for the same one.
        **({"kafka.group.id": group if size > _FEW_RECORDS else f"{group}-few"} if group else {}),
    }
