"""`lk setup` lets Java write its AOT cache after a stream was run, however slow the machine is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from flows import train_aot_cache
from infra.lake import delta


def test_the_first_batch_of_the_stream_is_waited_for(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream is given no time: on a busy machine its first batch took longer than all that it had."""
    monkeypatch.setattr(StreamingQuery, "awaitTermination", lambda _query, _timeout: False)
    train_aot_cache._stream(spark, tmp_path)
    assert delta.row_count(str(tmp_path / "table")) >= 10
