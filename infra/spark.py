"""The Spark session: Delta, the Kafka source, and a terminal kept clean."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from core.errors import Refused
from infra import jars, sparks
from infra.java import class_archive, spark_java_home
from infra.local.server import properties
from infra.settings import LOOPBACK, Settings

if TYPE_CHECKING:
    from typing import IO

    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Without Kafka: its first source turns each record into objects and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # One epoch of all views has more generated classes than the 100 that Spark keeps: all were compiled in each again.
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# What spark-submit decides, where it started us.
_LAUNCHERS = ("spark.master", "spark.ui.enabled")
_ROOT = Path(__file__).parent.parent
_LOG4J = {
    "appender.err.type": "Console",
    "appender.err.name": "err",
    "appender.err.target": "SYSTEM_ERR",
    "appender.err.layout.type": "PatternLayout",
    "appender.err.layout.pattern": "%d{ISO8601_OFFSET_DATE_TIME_HHCMM} %p %c{1}: %m%n%ex",
    "rootLogger.level": "warn",
    "rootLogger.appenderRef.err.ref": "err",
}


def log_file(settings: Settings, app_name: str) -> Path:
    """Where all that the session's JVM says is kept."""
    return settings.log_dir / f"spark-{app_name}.log"


def session(settings: Settings, app_name: str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, started if there is none; ``conf`` wins over the settings' ``spark_conf``.

    Raises Refused with the log's path when Spark does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if submitted():
        return _submitted(settings, app_name, conf or {})
    values = _conf(settings, app_name) | settings.spark_conf | dict(conf or {})
    spark_conf = SparkConf(loadDefaults=False).setAll(list(values.items()))
    if SparkContext._active_spark_context is None:
        log = log_file(settings, app_name)
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("ab") as out, _environment(settings):
                running = SparkContext._gateway is not None
                gateway = None if running else _launch(spark_conf, out)
                SparkContext(conf=spark_conf, gateway=gateway)
        except PySparkRuntimeError as e:
            raise Refused(f"Spark does not start: {e}", where=str(log), todo="read the log") from None
    return SparkSession.builder.config(conf=spark_conf).getOrCreate()


@contextmanager
def borrowed(settings: Settings, app_name: str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """The session of this process for one block; it is stopped at the block's end if it began there."""
    from pyspark import SparkContext

    ours = SparkContext._active_spark_context is None
    spark = session(settings, app_name, conf)
    try:
        yield spark
    finally:
        if ours:
            spark.stop()


def submitted() -> bool:
    """Whether spark-submit started this process: then its Java, master and jars are what that was told."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def end_java() -> None:
    """Ends the JVM of this process, whose session was stopped, and waits until it is gone: it may write as it ends."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is not None and gateway.proc is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


def with_more_tasks(master: str, more: int) -> str:
    """More tasks than the threads of ``local[N]``: one that waits for Kafka or the disk leaves no core idle."""
    threads = re.fullmatch(r"local\[(\d+)\]", master)
    return f"local[{int(threads[1]) + more}]" if threads else master


def _submitted(settings: Settings, app_name: str, conf: Mapping[str, str]) -> SparkSession:
    """A session in the Java that spark-submit started; ours are only the options that each session needs."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    ours = _CONF | sparks.installed().conf | settings.spark_conf | dict(conf)
    ours = {"spark.app.name": app_name} | {key: value for key, value in ours.items() if not key.startswith(_LAUNCHERS)}
    spark_conf = SparkConf(loadDefaults=True).setAll(list(ours.items()))
    return SparkSession.builder.config(conf=spark_conf).getOrCreate()


def _launch(conf: SparkConf, out: IO[bytes]) -> JavaGateway:
    from pyspark.java_gateway import launch_gateway

    return launch_gateway(conf, {"stdout": out, "stderr": out})  # type: ignore[no-untyped-call]


def _conf(settings: Settings, app_name: str) -> dict[str, str]:
    local = settings.spark_master.startswith("local")
    installed = sparks.installed()
    found = sorted(str(jar) for jar in jars.ensure(settings, installed.jars).glob("*.jar"))
    work = settings.run_dir / "spark"
    log4j = work / "log4j2.properties"
    work.mkdir(parents=True, exist_ok=True)
    log4j.write_text(properties(_LOG4J), "utf-8")
    here = {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.local.dir": str(work),
        # On the class path nothing is copied at every start; other masters must send the jars.
        "spark.driver.extraClassPath": os.pathsep.join(found),
    }
    return {
        **_CONF,
        **installed.conf,
        **(here if local else {"spark.jars": ",".join(found)}),
        "spark.app.name": app_name,
        "spark.master": settings.spark_master,
        "spark.driver.memory": settings.spark_memory,
        "spark.driver.extraJavaOptions": " ".join(
            [
                *(installed.java_options, settings.java_options, *class_archive("spark")),
                *(f"-Dlog4j2.configurationFile={log4j}", f"-Djava.io.tmpdir={work}"),
            ]
        ),
        "spark.executor.extraJavaOptions": f"{installed.java_options} {settings.java_options}".rstrip(),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
    }


@contextmanager
def _environment(settings: Settings) -> Iterator[None]:
    """What Spark's launcher reads; a Spark that is installed elsewhere must not be started instead."""
    local = {"SPARK_LOCAL_IP": LOOPBACK} if settings.spark_master.startswith("local") else {}
    ours = local | {
        "JAVA_HOME": str(spark_java_home(settings)),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),  # of executors
    }
    before = {key: os.environ.get(key) for key in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
