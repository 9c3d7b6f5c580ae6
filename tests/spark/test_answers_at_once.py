"""An answer of Java to Python that is larger than py4j's buffer does not wait for an acknowledgement by the kernel."""

from __future__ import annotations

import statistics
import threading
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_DELAY = 0.04  # seconds that Linux waits before it acknowledges
_CALLS = 15


def _median(spark: SparkSession) -> float:
    """Seconds that Java takes to answer with 100,000 characters."""
    texts: Any = spark._jvm.org.apache.commons.lang3.StringUtils  # type: ignore[union-attr]
    times = []
    for _ in range(_CALLS):
        began = time.perf_counter()
        assert len(texts.repeat("x", 100_000)) == 100_000
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def test_the_thread_that_made_the_session_gets_large_answers_at_once(spark: SparkSession) -> None:
    assert _median(spark) < _DELAY / 2


def test_another_thread_gets_large_answers_at_once(spark: SparkSession) -> None:
    medians: list[float] = []
    thread = threading.Thread(target=lambda: medians.append(_median(spark)))
    thread.start()
    thread.join()
    assert medians[0] < _DELAY / 2


def test_a_callback_gets_large_answers_at_once_when_it_asks_for_it(spark: SparkSession) -> None:
    """Java opens the connection of a callback, and py4j tells nobody: small epochs ask for it with every call."""
    medians: list[float] = []

    def measure(batch: DataFrame, _number: int) -> None:
        sockets: Any = spark._jvm.org.apache.spark.sql.lk.PythonSockets  # type: ignore[union-attr]
        sockets.ofThisThread()
        medians.append(_median(batch.sparkSession))

    rates = spark.readStream.format("rate").load()
    rates.writeStream.foreachBatch(measure).trigger(availableNow=True).start().awaitTermination(60)
    assert medians[0] < _DELAY / 2
