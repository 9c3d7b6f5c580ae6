"""What the tests on Spark share beside the session."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.records.decoder import Decoder


@pytest.fixture(scope="session")
def decoder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    """Decodes examples; each topic is planned once."""
    return Decoder(spark, str(tmp_path_factory.mktemp("inbox")))
