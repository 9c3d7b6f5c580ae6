"""A session on this machine for a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from core.errors import Refused
from infra.library_errors import first_line
from infra.settings import Settings
from infra.spark.session import temporary_session
from infra.spark.session_conf import short_lived

# Generated code takes longer to compile than these rows to interpret.
_CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def session_for_few_rows(
    settings: Settings, app_name: str, what: str, *, where: str, fix: str = ""
) -> Iterator[SparkSession]:
    """The session of this process for one block. Raises Refused when Spark cannot compute ``what`` in it."""
    local = short_lived(settings).model_copy(update={"spark_master": "local[*]"})
    with temporary_session(local, app_name, _CONF) as spark:
        try:
            yield spark
        except PySparkException as e:
            message = first_line(e.getMessage() or str(e))
            raise Refused(f"Spark cannot compute {what}: {message}", where=where, fix=fix) from None
