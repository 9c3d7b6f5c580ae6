"""Records of the log as Spark reads them: exactly the offsets that are asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.cut import Span
from infra.kafka import client_config
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def source_options(settings: Settings) -> dict[str, str]:
    """What every reader of the log tells Spark's Kafka source.

    A poll brings ten times Kafka's default of records: that is a fifth less work for each. A call for the log's ends
    waits for a broker that died until its time is over, and only the next one asks who leads now: so calls are short.
    """
    return {
        **client_config.spark_options(settings),
        "kafka.isolation.level": "read_committed",
        "kafka.max.poll.records": "5000",
        "kafka.default.api.timeout.ms": "20000",
        "kafka.request.timeout.ms": "20000",
        "fetchOffset.numRetries": "9",
        "includeHeaders": "true",
        "failOnDataLoss": "true",
    }


def read_spans(
    spark: SparkSession, settings: Settings, spans: Sequence[Span], *, task_records: int, group: str | None = None
) -> DataFrame:
    """Exactly these offsets of one topic, at most ``task_records`` in a task; Spark fails when one was deleted.

    Consumers are kept for the next read of the same consumer group; without one, each read makes new ones.
    """
    topic = spans[0].topic
    offsets = {which: {str(s.partition): getattr(s, which) for s in spans} for which in ("start", "end")}
    options = {
        "assign": json.dumps({topic: [span.partition for span in spans]}),
        "startingOffsets": json.dumps({topic: offsets["start"]}),
        "endingOffsets": json.dumps({topic: offsets["end"]}),
        "minPartitions": str(sum(-(-span.size // task_records) for span in spans)),
        **({"kafka.group.id": group} if group else {}),
    }
    return spark.read.format("kafka").options(**source_options(settings), **options).load()
