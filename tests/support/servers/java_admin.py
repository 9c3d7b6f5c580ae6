"""Requests of Kafka's Java admin client that the Python client lacks, sent by the JVM of the tests' Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from infra.kafka.client_config import java_client
from infra.settings import Settings

_SECONDS = 20


@contextmanager
def java_admin(spark: SparkSession, settings: Settings) -> Iterator[Any]:
    """The Java client with the login of the settings."""
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for name, value in java_client(settings).items():
        properties.put(name, value)
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        yield client
    finally:
        client.close()


def transaction_error(spark: SparkSession, client: Any, id: str) -> str:
    """The name of the error of DescribeTransactions, or ""; it needs DESCRIBE of the transactional id."""
    description: Any = client.describeTransactions([id]).description(id)
    return _error(spark, description)


def marker_error(spark: SparkSession, client: Any, topic: str) -> str:
    """The name of the error of WriteTxnMarkers, or ""; it needs CLUSTER_ACTION, or ALTER of the cluster."""
    jvm: Any = spark._jvm
    partition = jvm.org.apache.kafka.common.TopicPartition(topic, 0)
    unknown_producer = (1_000_000, jvm.java.lang.Short.parseShort("0"), 0)
    spec = jvm.org.apache.kafka.clients.admin.AbortTransactionSpec(partition, *unknown_producer)
    return _error(spark, client.abortTransaction(spec).all())


def quotas(spark: SparkSession, client: Any) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    """The limits of each entity that has some; the name None is every one without limits of its own."""
    jvm: Any = spark._jvm
    every = jvm.org.apache.kafka.common.quota.ClientQuotaFilter.all()
    described = client.describeClientQuotas(every).entities().get(_SECONDS, jvm.java.util.concurrent.TimeUnit.SECONDS)
    return {tuple(sorted(dict(entity.entries()).items())): dict(limits) for entity, limits in dict(described).items()}


def _error(spark: SparkSession, future: Any) -> str:
    jvm: Any = spark._jvm
    try:
        future.get(_SECONDS, jvm.java.util.concurrent.TimeUnit.SECONDS)
    except Py4JJavaError as e:
        cause = e.java_exception.getCause() or e.java_exception
        return str(cause.getClass().getSimpleName())
    return ""
